package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

const entryColumns = `e.show_no, e.eno, e.fan_no, e.place, e.tier, e.party, e.state, e.dormant, e.missed,
	e.joined_at, e.joined_decision`

func entryFields(e *waitlist.Entry) []any {
	return []any{
		&e.ShowNo, &e.No, &e.FanNo, &e.Place, &e.Tier, &e.Party, &e.State, &e.Dormant, &e.Missed,
		&e.JoinedAt, &e.JoinedDecision,
	}
}

func scanEntry(row pgx.CollectableRow) (e waitlist.Entry, err error) {
	err = row.Scan(entryFields(&e)...)
	return e, err
}

func scanNamedEntry(row pgx.CollectableRow) (e waitlist.Entry, err error) {
	err = row.Scan(append(entryFields(&e), &e.FanID)...)
	return e, err
}

// entriesOf returns the entries of fans in a show, by fan, without the fans' ids. Each is looked up by
// its key, of which LIMIT 1 leaves the planner no other choice: a list of keys it
// takes for many rows, and reads the whole line through another index while it
// knows little of a table that has grown.
func entriesOf(ctx context.Context, q querier, no int32, fans []int64) (map[int64]waitlist.Entry, error) {
	rows, err := q.Query(ctx, `
		SELECT `+entryColumns+` FROM unnest($2::bigint[]) k (fan_no)
		CROSS JOIN LATERAL (SELECT * FROM entries WHERE show_no = $1 AND fan_no = k.fan_no LIMIT 1) e`, no, fans)
	list, err := all(rows, err, scanEntry)
	byFan := make(map[int64]waitlist.Entry, len(list))
	for _, e := range list {
		byFan[e.FanNo] = e
	}
	return byFan, err
}

// namesOf returns the ids of those of the fans who have an entry in a show, by
// entry number.
func namesOf(ctx context.Context, q querier, no int32, fans []string) (map[int64]string, error) {
	rows, err := q.Query(ctx, `
		SELECT e.eno, k.id FROM unnest($2::text[]) k (id)
		CROSS JOIN LATERAL (SELECT fan_no FROM fans WHERE fan_id = k.id LIMIT 1) f
		CROSS JOIN LATERAL (SELECT eno FROM entries WHERE show_no = $1 AND fan_no = f.fan_no LIMIT 1) e`, no, fans)
	if err != nil {
		return nil, err
	}
	names := make(map[int64]string, len(fans))
	var eno int64
	var fan string
	_, err = pgx.ForEachRow(rows, []any{&eno, &fan}, func() error { names[eno] = fan; return nil })
	return names, err
}

// lockEntries locks entries, in the order of their numbers, and returns them.
func lockEntries(ctx context.Context, tx pgx.Tx, no int32, enos []int64) ([]waitlist.Entry, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+entryColumns+` FROM entries e
		WHERE e.show_no = $1 AND e.eno = ANY($2) ORDER BY e.eno FOR UPDATE`, no, enos)
	return all(rows, err, scanEntry)
}

// setState changes the state of entries and logs what they were.
func setState(ctx context.Context, tx pgx.Tx, no int32, enos []int64, m moment, to waitlist.State, what, reason string) error {
	if err := logEntries(ctx, tx, no, enos, m, what, reason); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE entries SET state = $3 WHERE show_no = $1 AND eno = ANY($2)`, no, enos, to)
	return err
}

// entryByFan reads one entry. tail may lock it.
func entryByFan(ctx context.Context, q querier, no int32, fan, tail string) (waitlist.Entry, error) {
	rows, err := q.Query(ctx, `
		SELECT `+entryColumns+`, $2::text FROM entries e
		WHERE e.show_no = $1 AND e.fan_no = (SELECT fan_no FROM fans WHERE fan_id = $2)`+tail, no, fan)
	if err != nil {
		return waitlist.Entry{}, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanNamedEntry)
	if errors.Is(err, pgx.ErrNoRows) { // without the id, which answers are kept with
		return e, neverInLine()
	}
	return e, err
}

func neverInLine() error {
	return waitlist.Refuse(waitlist.NotFound, "this fan has never been in this line")
}

// Entry returns a fan's entry with its position.
func (s *Store) Entry(ctx context.Context, show, fan string) (waitlist.Entry, error) {
	in := &inputs{s: s, q: s.pool, c: s.cache}
	sh, err := in.show(ctx, show)
	if err != nil {
		return waitlist.Entry{}, err
	}
	found, err := in.entry(ctx, sh.No, fan)
	if err != nil {
		return waitlist.Entry{}, err
	}
	e := found.Entry
	e.FanID = fan
	return e, nil
}

// Entries returns a page of the line, in order. Positions are counted from that of
// the page's first active entry.
func (s *Store) Entries(ctx context.Context, show string, f waitlist.EntryFilter) ([]waitlist.Entry, error) {
	no, err := showNo(ctx, s.pool, show)
	if err != nil {
		return nil, err
	}
	after := int64(waitlist.FirstPlace)
	if f.AfterPlace != nil {
		after = *f.AfterPlace
	}
	var list []waitlist.Entry
	switch f.State {
	case "":
		list, err = s.page(ctx, `
			SELECT `+entryColumns+`, f.fan_id FROM entries e JOIN fans f USING (fan_no)
			WHERE e.show_no = $1 AND e.place > $2 ORDER BY e.place LIMIT $3`, no, after, f.Limit)
	case waitlist.Waiting:
		list, err = s.waitingPage(ctx, no, after, f.Limit)
	default: // states that few are in, which have their index
		list, err = s.page(ctx, `
			SELECT `+entryColumns+`, f.fan_id FROM (
				SELECT * FROM entries WHERE show_no = $1 AND place > $2 AND state = $4 AND state <> 'waiting'
				ORDER BY show_no, state, place LIMIT $3) e
			CROSS JOIN LATERAL (SELECT fan_id FROM fans WHERE fan_no = e.fan_no LIMIT 1) f
			ORDER BY e.place`, no, after, f.Limit, string(f.State))
	}
	if err != nil {
		return nil, err
	}
	return list, s.positions(ctx, list, f.State == "" || f.State == waitlist.Waiting)
}

func (s *Store) page(ctx context.Context, sql string, args ...any) ([]waitlist.Entry, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	return all(rows, err, scanNamedEntry)
}

// waitingPage reads those waiting from where the counts say that somebody does: there
// may be a million others before them. Stretches are read that grow while few are
// found in them.
func (s *Store) waitingPage(ctx context.Context, no int32, after int64, limit int) (list []waitlist.Entry, err error) {
	for blocks := int64(1); len(list) < limit; blocks = min(4*blocks, 64) {
		from, err := s.waitingFrom(ctx, no, (after+1)>>blockBits)
		if err != nil || from == nil {
			return list, err
		}
		after = max(after, *from<<blockBits-1)
		end := (*from+blocks)<<blockBits - 1
		more, err := s.page(ctx, `
			SELECT `+entryColumns+`, f.fan_id FROM entries e JOIN fans f USING (fan_no)
			WHERE e.show_no = $1 AND e.place > $2 AND e.place <= $4 AND e.state = 'waiting'
			ORDER BY e.place LIMIT $3`, no, after, limit-len(list), end)
		if err != nil {
			return nil, err
		}
		list, after = append(list, more...), end
	}
	return list, nil
}

// waitingFrom is the first block, from one on, in which somebody may wait; nil: there
// is none. It is never behind the first in which somebody does.
func (s *Store) waitingFrom(ctx context.Context, no int32, block int64) (first *int64, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT least(
			(SELECT block FROM line_blocks WHERE show_no = $1 AND block >= $2 AND active + dormant > 0 ORDER BY block LIMIT 1),
			(SELECT min(block) FROM line_deltas WHERE show_no = $1 AND block >= $2 AND active + dormant > 0))`, no, block).
		Scan(&first)
	return first, err
}

// FanEntries are a fan's entries in line.
func (s *Store) FanEntries(ctx context.Context, fan string) ([]waitlist.FanEntry, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+`, f.fan_id, s.show_id
		FROM fans f JOIN entries e USING (fan_no) JOIN shows s USING (show_no)
		WHERE f.fan_id = $1 AND e.state IN ('waiting', 'holding') AND NOT s.cancelled ORDER BY s.show_id LIMIT 500`, fan)
	list, err := all(rows, err, func(row pgx.CollectableRow) (fe waitlist.FanEntry, err error) {
		err = row.Scan(append(entryFields(&fe.Entry), &fe.FanID, &fe.ShowID)...)
		return fe, err
	})
	if err != nil {
		return nil, err
	}
	return list, s.positionsOf(ctx, list)
}
