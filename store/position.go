package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/waitlist"
)

// blockBits: a block of the line is 1,024 places, also below zero. delivery counts
// by the same blocks, or this does not compile.
const blockBits = 10

var _ [delivery.LineBlockPlaces]struct{} = [1 << blockBits]struct{}{}

// position counts the active entries before e: whole blocks by their counts, its
// own block by index. It is 0 for an entry that is not active.
func (s *Store) position(ctx context.Context, q querier, e *waitlist.Entry) error {
	e.Position = 0
	if !e.Active() {
		return nil
	}
	return q.QueryRow(ctx, `
		SELECT 1 + (SELECT coalesce(sum(active), 0) FROM line_blocks WHERE show_no = $1 AND block < $2)
			+ (SELECT coalesce(sum(active), 0) FROM line_deltas WHERE show_no = $1 AND block < $2)
			+ (SELECT count(*) FROM entries WHERE show_no = $1 AND place >= $2 << $4 AND place < $3
				AND state = 'waiting' AND NOT dormant)`,
		e.ShowNo, e.Place>>blockBits, e.Place, blockBits).Scan(&e.Position)
}

// positions fills in a page's. When the page holds every waiting entry of its
// stretch, one count is enough.
func (s *Store) positions(ctx context.Context, page []waitlist.Entry, whole bool) error {
	var next int64
	for i := range page {
		e := &page[i]
		if !e.Active() {
			continue
		}
		if next == 0 || !whole {
			if err := s.position(ctx, s.pool, e); err != nil {
				return err
			}
			next = e.Position
		}
		e.Position = next
		next++
	}
	return nil
}

// foldMost is how many changes one fold takes.
const foldMost = 50_000

// FoldPositions folds the changes of the block counts together, in one process at
// a time.
func (s *Store) FoldPositions(ctx context.Context) error {
	return s.inTx(ctx, "fold positions", func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, 0)`, lockFold).Scan(&mine); err != nil || !mine {
			return err
		}
		_, err := tx.Exec(ctx, `
			WITH taken AS (SELECT ctid FROM line_deltas LIMIT $1),
			gone AS (DELETE FROM line_deltas WHERE ctid = ANY(ARRAY(SELECT ctid FROM taken)) RETURNING *)
			INSERT INTO line_blocks AS b (show_no, block, active, dormant)
			SELECT show_no, block, sum(active), sum(dormant) FROM gone GROUP BY 1, 2 ORDER BY 1, 2
			ON CONFLICT (show_no, block) DO UPDATE
			SET active = b.active + excluded.active, dormant = b.dormant + excluded.dormant`, foldMost)
		return err
	})
}
