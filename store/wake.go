package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Wake ends the fan's dormancy in every show.
func (s *Store) Wake(ctx context.Context, fan string) (woken []int32, err error) {
	if s.awake(fan) {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT e.show_no FROM entries e JOIN fans f USING (fan_no) WHERE f.fan_id = $1 AND e.dormant ORDER BY 1`, fan)
	nos, err := all(rows, err, pgx.RowTo[int32])
	if err != nil {
		return nil, err
	}
	for _, no := range nos {
		woke := false
		err := s.inTx(ctx, "wake", func(tx pgx.Tx) error {
			woke = false
			if err := lockShared(ctx, tx, no); err != nil {
				return err
			}
			e, err := entryByFan(ctx, tx, no, fan, " FOR UPDATE OF e")
			if err != nil || !e.Dormant {
				return err
			}
			m, err := look(ctx, tx, no)
			if err != nil {
				return err
			}
			woke = true
			if err := wake(ctx, tx, no, []int64{e.No}, m); err != nil {
				return err
			}
			return dueIfOpen(ctx, tx, no, m.now)
		})
		if err != nil {
			return woken, err
		}
		if woke {
			woken = append(woken, no)
		}
	}
	return woken, nil
}

// wake ends the dormancy of entries whose fan acted.
func wake(ctx context.Context, tx pgx.Tx, no int32, enos []int64, m moment) error {
	if err := logEntries(ctx, tx, no, enos, m, "woke", ""); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE entries SET dormant = false, missed = 0 WHERE show_no = $1 AND eno = ANY($2) AND dormant`, no, enos)
	return err
}
