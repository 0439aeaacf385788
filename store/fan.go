package store

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// FindFan returns the number of a fan, or 0 for one who is not known.
func (s *Store) FindFan(ctx context.Context, fan string) (int64, error) {
	return findFan(ctx, s.pool, fan)
}

func findFan(ctx context.Context, q querier, fan string) (no int64, err error) {
	err = q.QueryRow(ctx, `SELECT fan_no FROM fans WHERE fan_id = $1`, fan).Scan(&no)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return no, err
}

// EraseFan takes the fan out of each line, a transaction each, and then forgets
// who they were: the row that holds the id goes last, so that a crash leaves a fan
// who can be erased again. Entries, turns and claims stay as numbers that lead to
// nobody, since what others were told was decided by them.
func (s *Store) EraseFan(ctx context.Context, fan string) (shows []int32, err error) {
	no, err := s.FindFan(ctx, fan)
	if no == 0 || err != nil {
		return nil, err
	}
	for range tries {
		left, err := s.leaveAll(ctx, fan, no)
		if shows = append(shows, left...); err != nil {
			return shows, err
		}
		if err := s.forget(ctx, fan, no); !errors.Is(err, errJoinedSince) {
			return shows, err
		}
	}
	return shows, waitlist.Refuse(waitlist.Conflict, "this fan joins again and again; stop that first")
}

// SignOut has every instance close the sockets that the fan opened before now. It
// is an event like those of the line, so that it reaches also an instance that
// nobody can wake.
func (s *Store) SignOut(ctx context.Context, fanNo int64) error {
	return s.inTx(ctx, "sign a fan out", func(tx pgx.Tx) error {
		now, err := nowIn(ctx, tx)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, event{Type: notifier.FanSignedOut, At: now, FanNo: fanNo, Live: true})
	})
}

// errJoinedSince: the fan joined a line after the others were left.
var errJoinedSince = errors.New("the fan joined in the meantime")

func (s *Store) leaveAll(ctx context.Context, fan string, no int64) (left []int32, err error) {
	rows, err := s.pool.Query(ctx, `
		SELECT s.show_id FROM entries e JOIN shows s USING (show_no)
		WHERE e.fan_no = $1 AND e.state IN ('waiting', 'holding') ORDER BY e.show_no`, no)
	shows, err := all(rows, err, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, show := range shows {
		to, err := s.Leave(ctx, show, fan, waitlist.Left, "")
		if err != nil {
			return left, err
		}
		if to.ShowNo != 0 {
			left = append(left, to.ShowNo)
		}
	}
	return left, nil
}

// The statements that forget fan number $1, in order. Texts first: like whoever
// changes a claim, they take its lock before the fan's.
var (
	forgetTexts = []string{
		`UPDATE entry_log l SET reason = '' FROM entries e
			WHERE e.fan_no = $1 AND l.show_no = e.show_no AND l.eno = e.eno AND l.reason <> ''`,
		`UPDATE claims SET reason = '' WHERE fan_no = $1 AND reason <> ''`,
		`UPDATE audit SET reason = '' WHERE fan_no = $1 AND reason <> ''`,
	}
	forgetRows = []string{
		`DELETE FROM inbox WHERE fan_no = $1`,
		`DELETE FROM inbox_reads WHERE fan_no = $1`,
		`DELETE FROM early_reports e USING fans f WHERE f.fan_no = $1 AND lower(e.report ->> 'address') = lower(f.email)`,
		`DELETE FROM devices WHERE fan_no = $1`,
		`DELETE FROM messages WHERE fan_no = $1`,
		`DELETE FROM message_keys WHERE fan_no = $1`,
		`DELETE FROM digests WHERE fan_no = $1`,
		// The app's id of a device may be one that others know.
		`UPDATE deliveries SET address_ref = '' WHERE fan_no = $1 AND address_ref NOT IN ('', 'phone', 'email')`,
		`DELETE FROM answers WHERE fans @> ARRAY[$1::bigint]`,
	}
	// Where staff named the fan in what they wrote about others: $1 is the id, $2
	// what finds it as a word.
	forgetName = []string{
		`UPDATE entry_log SET reason = regexp_replace(reason, $2, '(erased)', 'g') WHERE reason <> '' AND strpos(reason, $1) > 0`,
		`UPDATE claims SET reason = regexp_replace(reason, $2, '(erased)', 'g') WHERE reason <> '' AND strpos(reason, $1) > 0`,
		`UPDATE audit SET reason = regexp_replace(reason, $2, '(erased)', 'g') WHERE reason <> '' AND strpos(reason, $1) > 0`,
	}
)

// forget removes what leads from the fan's number to a person. It holds the fan's
// row, for which joins and kept answers wait, and then looks whether one came
// before it.
func (s *Store) forget(ctx context.Context, fan string, no int64) error {
	word := `(?<![[:alnum:]])` + regexp.QuoteMeta(fan) + `(?![[:alnum:]])`
	return s.inTx(ctx, "forget a fan", func(tx pgx.Tx) error {
		stale(tx, fanKey(fan), inboxKey(no))
		if err := forgetBy(ctx, tx, forgetTexts, no); err != nil {
			return err
		}
		if err := forgetBy(ctx, tx, forgetName, fan, word); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `SELECT FROM fans WHERE fan_no = $1 FOR UPDATE`, no)
		if err != nil || tag.RowsAffected() == 0 {
			return err // erased by another request
		}
		var joined bool
		if err := tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM entries WHERE fan_no = $1 AND state IN ('waiting', 'holding'))`, no).Scan(&joined); err != nil {
			return err
		}
		if joined {
			return errJoinedSince
		}
		if err := forgetBy(ctx, tx, forgetRows, no); err != nil {
			return err
		}
		now, err := nowIn(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.record(ctx, tx, event{Type: notifier.FanErased, At: now, FanNo: no, Live: true}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM fans WHERE fan_no = $1`, no)
		return err
	})
}

func forgetBy(ctx context.Context, tx pgx.Tx, statements []string, args ...any) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// FanNo returns the number of a fan, who exists from the first call that names it.
func (s *Store) FanNo(ctx context.Context, fan string) (int64, error) {
	nos, err := s.fanNos(ctx, []string{fan})
	return nos[fan], err
}

// fanNos returns the numbers of fans, who exist from the first call that names
// them. New ones are inserted sorted, so that two batches cannot deadlock. Those
// whom somebody else made meanwhile are read once more.
func (s *Store) fanNos(ctx context.Context, ids []string) (map[string]int64, error) {
	nos := make(map[string]int64, len(ids))
	var made []string // keys
	for ask := ids; len(ask) > 0; {
		rows, err := s.pool.Query(ctx, `
			WITH known AS (
				SELECT f.fan_id, f.fan_no FROM unnest($1::text[]) k (id)
				CROSS JOIN LATERAL (SELECT fan_id, fan_no FROM fans WHERE fan_id = k.id LIMIT 1) f),
			made AS (
				INSERT INTO fans (fan_id)
				SELECT DISTINCT id FROM unnest($1::text[]) id WHERE id NOT IN (SELECT fan_id FROM known) ORDER BY id
				ON CONFLICT DO NOTHING RETURNING fan_id, fan_no)
			SELECT fan_id, fan_no, false FROM known UNION ALL SELECT fan_id, fan_no, true FROM made`, ask)
		if err != nil {
			return nil, err
		}
		var id string
		var no int64
		var fresh bool
		if _, err = pgx.ForEachRow(rows, []any{&id, &no, &fresh}, func() error {
			if nos[id] = no; fresh {
				made = append(made, fanKey(id))
			}
			return nil
		}); err != nil {
			return nil, err
		}
		ask = slices.DeleteFunc(slices.Clone(ask), func(id string) bool { return nos[id] != 0 })
	}
	s.cache.stale(ctx, made)
	return nos, nil
}
