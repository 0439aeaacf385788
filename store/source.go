package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// source reads the line for a decision, in its transaction.
type source struct {
	tx   pgx.Tx
	show int32
	open []int64 // the open openings

	marks   map[int64][]waitlist.Mark // by opening; nil: not read
	chunks  map[int64]bool            // of members that were read
	members map[int64]map[int64]bool  // by opening
}

const candidateColumns = `e.eno, e.fan_no, e.place, e.tier, e.party`

func scanCandidate(row pgx.CollectableRow) (c waitlist.Candidate, err error) {
	err = row.Scan(&c.EntryNo, &c.FanNo, &c.Place, &c.Tier, &c.Party)
	return c, err
}

// Groups skips from group to group in the walk index, without reading through
// their entries.
func (s *source) Groups(ctx context.Context) ([]waitlist.Group, error) {
	rows, err := s.tx.Query(ctx, `
		WITH RECURSIVE g AS (
			(SELECT tier, party FROM entries WHERE show_no = $1 AND state = 'waiting' AND NOT dormant
			 ORDER BY tier, party LIMIT 1)
			UNION ALL
			SELECT n.tier, n.party FROM g CROSS JOIN LATERAL (
				SELECT tier, party FROM entries WHERE show_no = $1 AND state = 'waiting' AND NOT dormant
					AND (tier, party) > (g.tier, g.party)
				ORDER BY tier, party LIMIT 1) n)
		SELECT tier, party FROM g`, s.show)
	return all(rows, err, func(row pgx.CollectableRow) (g waitlist.Group, err error) {
		err = row.Scan(&g.Tier, &g.Party)
		return g, err
	})
}

// Pages reads the next entries of several groups in one round trip.
func (s *source) Pages(ctx context.Context, from []waitlist.From, limit int) ([][]waitlist.Candidate, error) {
	batch := &pgx.Batch{}
	for _, f := range from {
		batch.Queue(`
			SELECT `+candidateColumns+` FROM entries e
			WHERE e.show_no = $1 AND e.tier = $2 AND e.party = $3 AND e.place >= $4 AND e.state = 'waiting' AND NOT e.dormant
			ORDER BY e.place LIMIT $5`, s.show, f.Tier, f.Party, f.Place, limit)
	}
	pages := make([][]waitlist.Candidate, len(from))
	results := s.tx.SendBatch(ctx, batch)
	defer results.Close()
	for i := range pages {
		rows, err := results.Query()
		if pages[i], err = all(rows, err, scanCandidate); err != nil {
			return nil, err
		}
	}
	return pages, results.Close()
}

// Marks are those of an opening. Those of all the open openings are read at once.
func (s *source) Marks(ctx context.Context, opening int64) ([]waitlist.Mark, error) {
	if s.marks != nil {
		return s.marks[opening], nil
	}
	rows, err := s.tx.Query(ctx, `
		SELECT opening_no, tier, party, place, decision FROM marks WHERE opening_no = ANY($1)`, s.open)
	if err != nil {
		return nil, err
	}
	marks := map[int64][]waitlist.Mark{}
	var no int64
	var m waitlist.Mark
	if _, err := pgx.ForEachRow(rows, []any{&no, &m.Tier, &m.Party, &m.Place, &m.Decision}, func() error {
		marks[no] = append(marks[no], m)
		return nil
	}); err != nil {
		return nil, err
	}
	s.marks = marks
	return marks[opening], nil
}

// Changed are the active entries before their group's mark that the log names
// since.
func (s *source) Changed(ctx context.Context, marks []waitlist.Mark) ([]waitlist.Candidate, error) {
	var tiers []string
	var parties []int16
	var places, decisions []int64
	oldest := marks[0].Decision
	for _, m := range marks {
		tiers, parties = append(tiers, m.Tier), append(parties, int16(m.Party))
		places, decisions = append(places, m.Place), append(decisions, m.Decision)
		oldest = min(oldest, m.Decision)
	}
	// Each entry is looked up by its number: LIMIT 1 keeps the planner from reading
	// the line through another index when it knows little of a table that has grown.
	rows, err := s.tx.Query(ctx, `
		SELECT `+candidateColumns+`
		FROM (SELECT eno, max(decision) AS decision FROM entry_log WHERE show_no = $1 AND decision >= $2 GROUP BY eno) l
		CROSS JOIN LATERAL (SELECT * FROM entries WHERE show_no = $1 AND eno = l.eno LIMIT 1) e
		JOIN unnest($3::text[], $4::smallint[], $5::bigint[], $6::bigint[]) m (tier, party, place, decision)
			ON e.tier = m.tier AND e.party = m.party AND l.decision >= m.decision AND e.place < m.place
		WHERE e.state = 'waiting' AND NOT e.dormant
		ORDER BY e.place`, s.show, oldest, tiers, parties, places, decisions)
	return all(rows, err, scanCandidate)
}

// Told are those of the entries that are members of a wave of the opening. The
// members of all the open openings are read at once, a chunk of entries at a time.
func (s *source) Told(ctx context.Context, opening int64, enos []int64) (map[int64]bool, error) {
	if err := s.readMembers(ctx, chunksOf(enos)); err != nil {
		return nil, err
	}
	told := map[int64]bool{}
	for _, no := range enos {
		if s.members[opening][no] {
			told[no] = true
		}
	}
	return told, nil
}

// readMembers reads the chunks that were not read yet.
func (s *source) readMembers(ctx context.Context, chunks []int64) error {
	chunks = slices.DeleteFunc(chunks, func(c int64) bool { return s.chunks[c] })
	if len(chunks) == 0 {
		return nil
	}
	if s.members == nil {
		s.chunks, s.members = map[int64]bool{}, map[int64]map[int64]bool{}
	}
	rows, err := s.tx.Query(ctx, `
		SELECT m.opening_no, m.enos FROM wave_members m
		WHERE m.show_no = $1 AND m.chunk = ANY($2) AND m.opening_no = ANY($3)`, s.show, chunks, s.open)
	if err != nil {
		return err
	}
	var opening int64
	var enos []int64
	if _, err := pgx.ForEachRow(rows, []any{&opening, &enos}, func() error {
		if s.members[opening] == nil {
			s.members[opening] = map[int64]bool{}
		}
		for _, no := range enos {
			s.members[opening][no] = true
		}
		return nil
	}); err != nil {
		return err
	}
	for _, c := range chunks {
		s.chunks[c] = true
	}
	return nil
}

// Entries are the waiting ones of the entries.
func (s *source) Entries(ctx context.Context, enos []int64) ([]waitlist.Candidate, error) {
	rows, err := s.tx.Query(ctx, `
		SELECT `+candidateColumns+` FROM entries e WHERE e.show_no = $1 AND e.eno = ANY($2) AND e.state = 'waiting'`, s.show, enos)
	return all(rows, err, scanCandidate)
}

// Holding are the entries with a hold.
func (s *source) Holding(ctx context.Context) ([]waitlist.Candidate, error) {
	rows, err := s.tx.Query(ctx, `
		SELECT `+candidateColumns+` FROM entries e WHERE e.show_no = $1 AND e.state = 'holding'`, s.show)
	return all(rows, err, scanCandidate)
}
