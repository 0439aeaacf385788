package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// The bounds of a picture.
const (
	pictureFront    = 120 // entries
	pictureServed   = 24  // of them before the first who waits
	pictureColumns  = 120 // stretches of the whole line
	pictureOpenings = 5   // newest ones, of which those skipped are shown
	pictureWaves    = 20  // newest ones of each
)

// Picture returns a show's line to look at, as of one moment.
func (s *Store) Picture(ctx context.Context, show string) (p waitlist.Picture, err error) {
	no, err := showNo(ctx, s.pool, show)
	if err != nil {
		return p, err
	}
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := s.pictureLine(ctx, tx, no, &p); err != nil {
			return err
		}
		return s.pictureFront(ctx, tx, no, &p)
	})
	if err != nil {
		return p, err
	}
	entries := make([]waitlist.Entry, len(p.Front))
	for i := range p.Front {
		entries[i] = p.Front[i].Entry
	}
	err = s.positions(ctx, entries, true)
	for i := range p.Front {
		p.Front[i].Position = entries[i].Position
	}
	return p, err
}

// pictureLine reads the whole line, by the counts of its blocks.
func (s *Store) pictureLine(ctx context.Context, q querier, no int32, p *waitlist.Picture) error {
	var first, last int64
	if err := q.QueryRow(ctx, `
		SELECT l.front_place + 1, l.next_place - 1,
			(SELECT nullif(max(w.walked_to), $2) FROM openings o JOIN waves w USING (opening_no)
				WHERE o.show_no = $1 AND o.state = 'open'),
			(SELECT coalesce(sum(free) FILTER (WHERE state = 'open'), 0) FROM openings WHERE show_no = $1),
			(SELECT coalesce(sum(held), 0) FROM openings WHERE show_no = $1),
			(SELECT coalesce(sum(confirmed), 0) FROM openings WHERE show_no = $1)
		FROM lines l WHERE l.show_no = $1`, no, int64(waitlist.NoWalk)).
		Scan(&first, &last, &p.Reached, &p.SeatsFree, &p.SeatsHeld, &p.SeatsBought); err != nil {
		return err
	}
	if last < first {
		return nil
	}
	firstBlock, lastBlock := first>>blockBits, last>>blockBits
	blocks := (lastBlock - firstBlock + pictureColumns) / pictureColumns // in a stretch
	for b := firstBlock; b <= lastBlock; b += blocks {
		p.Line = append(p.Line, waitlist.Stretch{From: max(first, b<<blockBits), To: min(last, (b+blocks)<<blockBits-1)})
	}
	rows, err := q.Query(ctx, `
		SELECT (block - $2) / $3, sum(active + dormant), sum(dormant) FROM (
			SELECT block, active, dormant FROM line_blocks WHERE show_no = $1
			UNION ALL SELECT block, active, dormant FROM line_deltas WHERE show_no = $1) c GROUP BY 1`, no, firstBlock, blocks)
	if err != nil {
		return err
	}
	var stretch, waiting, dormant int64
	_, err = pgx.ForEachRow(rows, []any{&stretch, &waiting, &dormant}, func() error {
		p.Waiting, p.Dormant = p.Waiting+waiting, p.Dormant+dormant
		if stretch >= 0 && stretch < int64(len(p.Line)) {
			p.Line[stretch].Waiting += waiting
		}
		return nil
	})
	return err
}

// pictureFront reads the entries around the first who waits.
func (s *Store) pictureFront(ctx context.Context, tx pgx.Tx, no int32, p *waitlist.Picture) error {
	m, err := look(ctx, tx, no)
	if err != nil {
		return err
	}
	from := int64(1) << 62 // nobody waits: all of them come before
	for _, s := range p.Line {
		if s.Waiting > 0 {
			from = s.From
			break
		}
	}
	var start int64
	if err := tx.QueryRow(ctx, `
		SELECT coalesce((SELECT place FROM entries
			WHERE show_no = $1 AND place >= $2 AND state IN ('waiting', 'holding') ORDER BY place LIMIT 1), $2)`, no, from).
		Scan(&start); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `
		SELECT `+entryColumns+`, f.fan_id FROM (
			(SELECT * FROM entries WHERE show_no = $1 AND place < $2 ORDER BY place DESC LIMIT $3)
			UNION ALL
			(SELECT * FROM entries WHERE show_no = $1 AND place >= $2 ORDER BY place LIMIT $4)) e
		JOIN fans f USING (fan_no) ORDER BY e.place`, no, start, pictureServed, pictureFront)
	entries, err := all(rows, err, scanNamedEntry)
	if err != nil {
		return err
	}
	entries = entries[:min(len(entries), pictureFront)]
	enos := make([]int64, len(entries))
	for i := range entries {
		enos[i] = entries[i].No
	}
	tellings, err := tellingsIn(ctx, tx, no, enos)
	if err != nil {
		return err
	}
	skipped, err := s.skippedIn(ctx, tx, no, entries, enos, tellings)
	for i := range entries {
		e := &entries[i]
		p.Front = append(p.Front, waitlist.Spot{Entry: *e, Shows: waitlist.SpotOf(e, m.now, tellings[e.No], skipped[e.No])})
	}
	return err
}

// skippedIn says which of the entries an opening that is open walked past.
func (s *Store) skippedIn(ctx context.Context, q querier, no int32, entries []waitlist.Entry, enos []int64, tellings map[int64][]waitlist.Telling) (map[int64]bool, error) {
	openings, err := openOpenings(ctx, q, no, pictureOpenings)
	if err != nil || len(openings) == 0 {
		return nil, err
	}
	nos := make([]int64, len(openings))
	for i := range openings {
		nos[i] = openings[i].No
	}
	rows, err := q.Query(ctx, `
		SELECT w.* FROM unnest($1::bigint[]) o CROSS JOIN LATERAL (
			SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = o ORDER BY w.n DESC LIMIT $2) w`, nos, pictureWaves)
	waves, err := all(rows, err, scanWave)
	if err != nil || len(waves) == 0 {
		return nil, err
	}
	members, err := membersOf(ctx, q, waves)
	if err != nil {
		return nil, err
	}
	first := waves[0].Decision
	for i := range waves {
		first = min(first, waves[i].Decision)
	}
	logs, err := logsOf(ctx, q, no, enos, first)
	skipped := map[int64]bool{}
	for i := range entries {
		e := &entries[i]
		for j := range openings {
			o := &openings[j]
			w := passing(e, o.No, waves, logs[e.No])
			if w == nil || slices.ContainsFunc(tellings[e.No], func(t waitlist.Telling) bool { return t.OpeningNo == o.No }) {
				continue
			}
			if o.Skips(w, members[w.Ref()], e.AsOf(w.Decision, logs[e.No]), tellings[e.No]) != "" {
				skipped[e.No] = true
			}
		}
	}
	return skipped, err
}

// passing is the opening's newest wave that walked past the entry, or nil. waves
// are newest first.
func passing(e *waitlist.Entry, opening int64, waves []waitlist.Wave, log []waitlist.Change) *waitlist.Wave {
	for i := range waves {
		w := &waves[i]
		if w.OpeningNo != opening {
			continue
		}
		if was := e.AsOf(w.Decision, log); was == nil {
			return nil
		} else if was.Place <= w.WalkedTo {
			return w
		}
	}
	return nil
}
