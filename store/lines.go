package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
)

// Lines is what one hub reads of the places in line. Its methods are called from
// one goroutine.
//
// Changes are read by number: from the highest that was there when the oldest
// transaction began that was open at the call before, less those seen. A
// transaction takes its numbers after its start, so that a late one is not passed
// by.
type Lines struct {
	s     *Store
	read  []linesRead
	open  time.Time          // when that transaction began, or a little before
	log   map[int64]struct{} // seen
	joins map[int64]struct{} // seen
}

// linesRead is how far a call had read by a time of the database.
type linesRead struct {
	at         time.Time
	log, joins int64
}

// Lines returns a new Lines.
func (s *Store) Lines() *Lines { return &Lines{s: s} }

// startBefore is how many numbers before the highest a first call reads: more than
// the transactions take that are open then.
const startBefore = 10_000

// Changes returns what was committed since the call before: changes of entries from
// their log, and joins, which have no row there, from the events.
func (l *Lines) Changes(ctx context.Context, anew bool) (c live.LineChanges, err error) {
	if anew {
		*l = Lines{s: l.s}
	}
	m, err := l.s.moment(ctx)
	if err != nil {
		return c, err
	}
	first := len(l.read) == 0
	from, err := l.from(ctx)
	if err != nil {
		return c, err
	}
	batch := &pgx.Batch{}
	batch.Queue(`
		SELECT id, show_no, eno, place >> $2, what = 'moved' FROM entry_log
		WHERE id > $1 AND what NOT IN ('changed', 'given') ORDER BY id`, from.log, blockBits)
	batch.Queue(`SELECT id FROM events WHERE id > $1 AND type = 'entry.joined' ORDER BY id`, from.joins)
	batch.Queue(`SELECT clock_timestamp()`)
	read, err := l.take(l.s.pool.SendBatch(ctx, batch), from)
	if err != nil {
		return c, err
	}
	// What was there at the first call is in all that the caller reads after it; and
	// those who joined may be millions.
	if !first {
		if c.Joined, err = l.joined(ctx, read.fresh); err != nil {
			return c, err
		}
	}
	c.Changed, l.log, l.joins = read.changed, read.log, read.joins
	l.read, l.open = append(l.read, read.to), m.At
	return c, nil
}

// changesRead are the results of Changes, and what is seen with them.
type changesRead struct {
	to         linesRead
	changed    []live.LineChange
	fresh      []int64 // events of joins
	log, joins map[int64]struct{}
}

func (l *Lines) take(results pgx.BatchResults, from linesRead) (r changesRead, err error) {
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	r.to = from
	logged, err := numbered(results, func(row pgx.CollectableRow, id *int64) (x live.LineChange, err error) {
		err = row.Scan(id, &x.Block.ShowNo, &x.EntryNo, &x.Block.Block, &x.Moved)
		return x, err
	})
	if err != nil {
		return r, err
	}
	joined, err := numbered(results, func(row pgx.CollectableRow, id *int64) (int64, error) {
		err := row.Scan(id)
		return *id, err
	})
	if err != nil {
		return r, err
	}
	if err := results.QueryRow().Scan(&r.to.at); err != nil {
		return r, err
	}
	r.changed, r.log, r.to.log = unseen(logged, l.log, from.log)
	r.fresh, r.joins, r.to.joins = unseen(joined, l.joins, from.joins)
	return r, nil
}

// joined are the fans of events of joins.
func (l *Lines) joined(ctx context.Context, events []int64) ([]int64, error) {
	if len(events) == 0 {
		return nil, nil
	}
	rows, err := l.s.pool.Query(ctx, `
		SELECT f::bigint FROM events e CROSS JOIN LATERAL jsonb_array_elements_text(e.data->'fans') f
		WHERE e.id = ANY($1)`, events)
	return all(rows, err, pgx.RowTo[int64])
}

// numberedRow is a row with its number.
type numberedRow[T any] struct {
	id int64
	is T
}

func numbered[T any](results pgx.BatchResults, scan func(pgx.CollectableRow, *int64) (T, error)) ([]numberedRow[T], error) {
	rows, err := results.Query()
	return all(rows, err, func(row pgx.CollectableRow) (n numberedRow[T], err error) {
		n.is, err = scan(row, &n.id)
		return n, err
	})
}

// unseen returns those rows that were not seen, what is seen now, and the highest
// number. Rows of one number are seen together.
func unseen[T any](rows []numberedRow[T], seen map[int64]struct{}, last int64) (fresh []T, now map[int64]struct{}, highest int64) {
	now, highest = make(map[int64]struct{}, len(rows)), last
	for _, r := range rows {
		if _, ok := seen[r.id]; !ok {
			fresh = append(fresh, r.is)
		}
		now[r.id] = struct{}{}
		highest = max(highest, r.id)
	}
	return fresh, now, highest
}

// from is where to read from: what the last call had read that ended before then.
func (l *Lines) from(ctx context.Context) (linesRead, error) {
	if len(l.read) == 0 {
		var r linesRead
		err := l.s.pool.QueryRow(ctx, `
			SELECT coalesce((SELECT max(id) FROM entry_log), 0) - $1::bigint, coalesce((SELECT max(id) FROM events), 0) - $1`,
			startBefore).Scan(&r.log, &r.joins)
		if err != nil {
			return r, err
		}
		l.read = append(l.read, r)
	}
	for len(l.read) > 1 && l.read[1].at.Before(l.open) {
		l.read = l.read[1:]
	}
	return l.read[0], nil
}

// Entries returns the entries in line of fans.
func (l *Lines) Entries(ctx context.Context, fans []int64) ([]live.LineEntry, error) {
	rows, err := l.s.pool.Query(ctx, `
		SELECT e.fan_no, e.eno, e.place, e.show_no, e.place >> $2, s.show_id, e.state = 'waiting' AND NOT e.dormant
		FROM entries e JOIN shows s USING (show_no)
		WHERE e.fan_no = ANY($1) AND e.state IN ('waiting', 'holding') AND NOT s.cancelled`, fans, blockBits)
	return all(rows, err, func(row pgx.CollectableRow) (e live.LineEntry, err error) {
		err = row.Scan(&e.FanNo, &e.EntryNo, &e.Place, &e.Block.ShowNo, &e.Block.Block, &e.ShowID, &e.Active)
		return e, err
	})
}

// Before sums the counts of the blocks before each.
func (l *Lines) Before(ctx context.Context, blocks []live.LineBlock) (map[live.LineBlock]int64, error) {
	shows, numbers := columnsOfBlocks(blocks)
	rows, err := l.s.pool.Query(ctx, `
		WITH ask AS (SELECT * FROM unnest($1::int[], $2::bigint[]) a (show_no, block)),
		counts AS (
			SELECT show_no, block, sum(active) AS active
			FROM (SELECT show_no, block, active FROM line_blocks UNION ALL SELECT show_no, block, active FROM line_deltas) b
			WHERE show_no = ANY(ARRAY(SELECT DISTINCT show_no FROM ask)) GROUP BY 1, 2)
		SELECT show_no, block, before FROM (
			SELECT show_no, block, (sum(active) OVER (PARTITION BY show_no ORDER BY block) - active)::bigint AS before
			FROM counts) b JOIN ask USING (show_no, block)`, shows, numbers)
	if err != nil {
		return nil, err
	}
	before := make(map[live.LineBlock]int64, len(blocks))
	var at live.LineBlock
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&at.ShowNo, &at.Block, &n}, func() error { before[at] = n; return nil })
	return before, err
}

// Active reads the places of those active in each block.
func (l *Lines) Active(ctx context.Context, blocks []live.LineBlock) (map[live.LineBlock][]int64, error) {
	shows, numbers := columnsOfBlocks(blocks)
	rows, err := l.s.pool.Query(ctx, `
		SELECT a.show_no, a.block,
			coalesce(array_agg(e.place ORDER BY e.place) FILTER (WHERE e.state = 'waiting' AND NOT e.dormant), '{}')
		FROM unnest($1::int[], $2::bigint[]) a (show_no, block)
		JOIN entries e ON e.show_no = a.show_no AND e.place >= a.block << $3 AND e.place < (a.block + 1) << $3
		GROUP BY 1, 2`, shows, numbers, blockBits)
	if err != nil {
		return nil, err
	}
	active := make(map[live.LineBlock][]int64, len(blocks))
	var at live.LineBlock
	var places []int64
	_, err = pgx.ForEachRow(rows, []any{&at.ShowNo, &at.Block, &places}, func() error {
		active[at] = places
		places = nil
		return nil
	})
	return active, err
}

func columnsOfBlocks(blocks []live.LineBlock) (shows []int32, numbers []int64) {
	for _, b := range blocks {
		shows, numbers = append(shows, b.ShowNo), append(numbers, b.Block)
	}
	return shows, numbers
}

var _ live.Lines = (*Lines)(nil)
