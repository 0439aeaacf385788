package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Shows that ended long ago lose their lines: all that a trace is worked out from.
// What stays are the show, its openings with their totals, and the head of the line,
// so that no number is given twice. It takes two steps. A show is marked under its
// lock, which is only tried: from then on nothing is added to it. A minute later,
// when all that found it unmarked is over, its rows go in batches that need no lock,
// those of fans first: then whoever asks about somebody hears that they were never
// on the list, and no answer is worked out from half of a line.

const (
	// endedMost is how many shows are marked at one call.
	endedMost = 100
	// tracesMost bounds the rows that one call drops, and membersMost those of
	// wave_members, which hold up to a thousand fans each.
	tracesMost  = 5000
	membersMost = 200
)

// endedSQL is whether the line of a show s with the head l may go: it ended, and
// was made and last decided, long ago, and nothing of it is open or held. Each item
// follows a decision, so that none is left that is shown.
const endedSQL = `s.dropping_at IS NULL AND s.starts_at <= (SELECT clock_timestamp() - ` + tracesKept + `)
	AND s.made_at <= (SELECT clock_timestamp() - ` + tracesKept + `) AND l.last_decided_at <= (SELECT clock_timestamp() - ` + tracesKept + `)
	AND NOT EXISTS (SELECT FROM openings o WHERE o.show_no = s.show_no AND (o.state = 'open' OR NOT o.handed_back))
	AND NOT EXISTS (SELECT FROM claims c WHERE c.show_no = s.show_no AND c.state = 'held')`

// markEnded marks shows whose lines are to go, a transaction each.
func (s *Store) markEnded(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `
		SELECT s.show_no FROM shows s JOIN lines l USING (show_no) WHERE `+endedSQL+` ORDER BY s.starts_at LIMIT $1`, endedMost)
	shows, err := all(rows, err, pgx.RowTo[int32])
	for _, no := range shows {
		if err == nil {
			err = s.inTx(ctx, "mark an ended show", func(tx pgx.Tx) error { return markEnded(ctx, tx, no) })
		}
	}
	return err
}

func markEnded(ctx context.Context, tx pgx.Tx, no int32) error {
	var free bool
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, lockShow, no).Scan(&free); err != nil || !free {
		return err
	}
	rows, err := tx.Query(ctx, `
		UPDATE shows s SET dropping_at = clock_timestamp() FROM lines l
		WHERE s.show_no = $1 AND l.show_no = s.show_no AND `+endedSQL+` RETURNING s.show_id`, no)
	ids, err := all(rows, err, pgx.RowTo[string])
	for _, id := range ids {
		stale(tx, showKey(id), newsKey(no))
	}
	return err
}

// traceTable is a table of what a trace is worked out from.
type traceTable struct {
	name string
	// ofShow: its rows are found by their show, those of the others by its openings.
	ofShow bool
	most   int
}

// traceTables are in the order in which they go.
var traceTables = []traceTable{
	{"entries", true, tracesMost},
	{"entry_log", true, tracesMost},
	{"wave_members", true, membersMost},
	{"unreached", false, tracesMost},
	{"turns", false, tracesMost},
	{"claims", false, tracesMost},
	{"seats", false, tracesMost},
	{"marks", false, tracesMost},
	{"waves", false, tracesMost},
}

// DropTraces drops a part of the line of a show that was marked, up to a bound, in
// one process at a time. It says whether there may be more.
func (s *Store) DropTraces(ctx context.Context) (more bool, err error) {
	if err := s.markEnded(ctx); err != nil {
		return false, err
	}
	err = s.owned(ctx, "drop traces", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT show_no FROM shows
			WHERE dropping_at <= (SELECT clock_timestamp() - interval '1 minute') AND dropped_at IS NULL
			ORDER BY dropping_at LIMIT 1`)
		shows, err := all(rows, err, pgx.RowTo[int32])
		if more = len(shows) > 0; err != nil || !more {
			return err
		}
		return dropTraces(ctx, tx, shows[0])
	})
	return more, err
}

// dropTraces drops rows of one table at most: the first that has any.
func dropTraces(ctx context.Context, tx pgx.Tx, show int32) error {
	for i := range traceTables {
		dropped, err := traceTables[i].drop(ctx, tx, show)
		if dropped || err != nil {
			return err
		}
	}
	return dropCounts(ctx, tx, show)
}

func (t *traceTable) drop(ctx context.Context, tx pgx.Tx, show int32) (dropped bool, err error) {
	from := `SELECT ctid FROM ` + t.name + ` WHERE show_no = $1 LIMIT $2`
	if !t.ofShow {
		from = `SELECT t.ctid FROM openings o CROSS JOIN LATERAL (
			SELECT ctid FROM ` + t.name + ` WHERE opening_no = o.opening_no LIMIT $2) t WHERE o.show_no = $1 LIMIT $2`
	}
	tag, err := tx.Exec(ctx, `DELETE FROM `+t.name+` WHERE ctid = ANY(ARRAY(`+from+`))`, show, t.most)
	return tag.RowsAffected() > 0, err
}

// dropCounts drops the counts of a line without entries, last, and notes that the
// show is done. Nobody folds them meanwhile.
func dropCounts(ctx context.Context, tx pgx.Tx, show int32) error {
	var mine bool
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, 0)`, lockFold).Scan(&mine); err != nil || !mine {
		return err
	}
	for _, sql := range []string{
		`DELETE FROM line_deltas WHERE show_no = $1`,
		`DELETE FROM line_blocks WHERE show_no = $1`,
		`DELETE FROM line_sums WHERE show_no = $1`,
		`DELETE FROM due WHERE show_no = $1`,
		`UPDATE shows SET dropped_at = clock_timestamp() WHERE show_no = $1`,
	} {
		if _, err := tx.Exec(ctx, sql, show); err != nil {
			return err
		}
	}
	return nil
}
