package store

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

const waveColumns = `w.opening_no, w.n, w.decision, w.decided_at, w.opens_at, w.rate, w.window_s, w.close_cap,
	w.size, w.free, w.demand, w.walked_to, w.misses_done`

func waveFields(w *waitlist.Wave, window *int) []any {
	return []any{
		&w.OpeningNo, &w.N, &w.Decision, &w.DecidedAt, &w.OpensAt, &w.Rate, window, &w.CloseCap,
		&w.Size, &w.Free, &w.Demand, &w.WalkedTo, &w.MissesDone,
	}
}

func scanWave(row pgx.CollectableRow) (w waitlist.Wave, err error) {
	var window int
	err = row.Scan(waveFields(&w, &window)...)
	w.Window = time.Duration(window) * time.Second
	return w, err
}

// chunkSize is how many entry numbers share a row of wave_members.
const chunkSize = 1000

// chunkOf is the SQL of the chunk in which an entry lies.
func chunkOf(eno string) string { return eno + " / " + strconv.Itoa(chunkSize) }

// chunksOf returns the chunks in which entries lie.
func chunksOf(enos []int64) []int64 {
	seen := map[int64]bool{}
	var chunks []int64
	for _, no := range enos {
		if c := no / chunkSize; !seen[c] {
			seen[c] = true
			chunks = append(chunks, c)
		}
	}
	return chunks
}

// memberRow is a row of wave_members.
type memberRow struct {
	chunk, opening int64
	n              int
	enos, fans     []int64
	ks             []int32
	parties        []int16
	places         []int64
	given          []bool
}

const memberColumns = `m.chunk, m.opening_no, m.n, m.enos, m.fans, m.ks, m.parties, m.places, m.given`

func scanMemberRow(row pgx.CollectableRow) (m memberRow, err error) {
	err = row.Scan(&m.chunk, &m.opening, &m.n, &m.enos, &m.fans, &m.ks, &m.parties, &m.places, &m.given)
	return m, err
}

func (m *memberRow) add(x waitlist.Member) {
	m.enos, m.fans, m.ks = append(m.enos, x.EntryNo), append(m.fans, x.FanNo), append(m.ks, int32(x.K))
	m.parties, m.places, m.given = append(m.parties, int16(x.Party)), append(m.places, x.Place), append(m.given, x.Given)
}

func (m *memberRow) at(i int) waitlist.Member {
	return waitlist.Member{
		EntryNo: m.enos[i], FanNo: m.fans[i], Place: m.places[i],
		Party: int(m.parties[i]), K: int(m.ks[i]), Given: m.given[i],
	}
}

// membersOf reads waves with their members, by turn.
func membersOf(ctx context.Context, q querier, waves []waitlist.Wave) (map[waitlist.WaveRef][]waitlist.Member, error) {
	members := make(map[waitlist.WaveRef][]waitlist.Member, len(waves))
	var openings []int64
	var ns []int32
	for i := range waves {
		if w := &waves[i]; w.Size > 0 {
			members[w.Ref()] = make([]waitlist.Member, w.Size)
			openings, ns = append(openings, w.OpeningNo), append(ns, int32(w.N))
		}
	}
	if len(openings) == 0 {
		return members, nil
	}
	rows, err := q.Query(ctx, `
		SELECT `+memberColumns+` FROM unnest($1::bigint[], $2::int[]) w (opening_no, n)
		JOIN wave_members m USING (opening_no, n)`, openings, ns)
	list, err := all(rows, err, scanMemberRow)
	for i := range list {
		into := members[waitlist.WaveRef{OpeningNo: list[i].opening, N: list[i].n}]
		for j := range list[i].enos {
			m := list[i].at(j)
			into[m.K] = m
		}
	}
	return members, err
}

// actedIn returns, for openings, the entries whose turn an act ended.
func actedIn(ctx context.Context, q querier, openings []int64) (map[int64]map[int64]bool, error) {
	acted := map[int64]map[int64]bool{}
	rows, err := q.Query(ctx, `SELECT opening_no, eno FROM turns WHERE opening_no = ANY($1)`, openings)
	if err != nil {
		return nil, err
	}
	var opening, eno int64
	_, err = pgx.ForEachRow(rows, []any{&opening, &eno}, func() error {
		if acted[opening] == nil {
			acted[opening] = map[int64]bool{}
		}
		acted[opening][eno] = true
		return nil
	})
	return acted, err
}

// WaveReports are an opening's waves, newest first, with whom they skipped.
func (s *Store) WaveReports(ctx context.Context, ref waitlist.OpeningRef, before, limit int) ([]waitlist.WaveReport, error) {
	o, err := resolve(ctx, s.pool, ref)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = $1 AND ($2 = 0 OR w.n < $2)
		ORDER BY w.n DESC LIMIT $3`, o.No, before, limit)
	waves, err := all(rows, err, scanWave)
	if err != nil {
		return nil, err
	}
	return s.reports(ctx, map[int64]*waitlist.Opening{o.No: &o}, waves)
}

// NewestWaves are the newest waves of openings of one show, the newest decision
// first. Whatever their number, the line is looked at once.
func (s *Store) NewestWaves(ctx context.Context, openings []waitlist.Opening, limit int) ([]waitlist.WaveReport, error) {
	if len(openings) == 0 {
		return nil, nil
	}
	of := make(map[int64]*waitlist.Opening, len(openings))
	nos := make([]int64, len(openings))
	for i := range openings {
		of[openings[i].No], nos[i] = &openings[i], openings[i].No
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+waveColumns+` FROM waves w WHERE w.show_no = $1 AND w.opening_no = ANY($2)
		ORDER BY w.decision DESC, w.opening_no DESC LIMIT $3`, openings[0].ShowNo, nos, limit)
	waves, err := all(rows, err, scanWave)
	if err != nil {
		return nil, err
	}
	return s.reports(ctx, of, waves)
}

// reports tells of waves, the newest decision first, whom they skipped.
func (s *Store) reports(ctx context.Context, of map[int64]*waitlist.Opening, waves []waitlist.Wave) ([]waitlist.WaveReport, error) {
	if len(waves) == 0 {
		return nil, nil
	}
	members, err := membersOf(ctx, s.pool, waves)
	if err != nil {
		return nil, err
	}
	past, err := s.readPast(ctx, of[waves[0].OpeningNo].ShowNo, waves)
	if err != nil {
		return nil, err
	}
	reports := make([]waitlist.WaveReport, len(waves))
	for i, w := range waves {
		ms := members[w.Ref()]
		r := waitlist.WaveReport{Wave: w, ClosesAt: w.LastCloses(), Skipped: past.skipped(of[w.OpeningNo], &w, ms)}
		if len(ms) > 0 {
			r.FromPlace, r.ToPlace = ms[0].Place, ms[len(ms)-1].Place
		}
		reports[i] = r
	}
	return reports, nil
}

// reportMost is how many entries a wave's report looks at.
const reportMost = 10_000

// past is the front of a line with what is needed to judge it as it was.
type past struct {
	entries  []waitlist.Entry
	logs     map[int64][]waitlist.Change
	tellings map[int64][]waitlist.Telling
}

// readPast reads the entries that the waves may have walked past, with their
// changes and turns since.
func (s *Store) readPast(ctx context.Context, show int32, waves []waitlist.Wave) (*past, error) {
	to, first := int64(waitlist.NoWalk), waves[len(waves)-1].Decision
	for i := range waves {
		to = max(to, waves[i].WalkedTo)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+` FROM (
			(SELECT * FROM entries WHERE show_no = $1 AND place <= $2 ORDER BY place LIMIT $4)
			UNION
			(SELECT e.* FROM entry_log l JOIN entries e USING (show_no, eno)
			 WHERE l.show_no = $1 AND l.decision >= $3 AND l.place <= $2 LIMIT $4)) e`,
		show, to, first, reportMost)
	p := &past{}
	if p.entries, err = all(rows, err, scanEntry); err != nil {
		return nil, err
	}
	enos := make([]int64, len(p.entries))
	for i := range p.entries {
		enos[i] = p.entries[i].No
	}
	if p.logs, err = logsOf(ctx, s.pool, show, enos, first); err != nil {
		return nil, err
	}
	p.tellings, err = tellingsIn(ctx, s.pool, show, enos)
	return p, err
}

// skipped counts by reason those in line whom the wave walked past, who had not
// been told, and whom it did not take.
func (p *past) skipped(o *waitlist.Opening, w *waitlist.Wave, members []waitlist.Member) map[waitlist.Reason]int {
	counts := map[waitlist.Reason]int{}
	for i := range p.entries {
		e := &p.entries[i]
		was := e.AsOf(w.Decision, p.logs[e.No])
		if was == nil || was.Place > w.WalkedTo || !was.State.InLine() || toldBy(p.tellings[e.No], o.No, w.Decision) {
			continue
		}
		if r := o.Skips(w, members, was, p.tellings[e.No]); r != "" {
			counts[r]++
		}
	}
	return counts
}

// toldBy says whether one of the turns is of the opening and of a decision up to
// d.
func toldBy(ts []waitlist.Telling, opening, d int64) bool {
	for i := range ts {
		if ts[i].OpeningNo == opening && ts[i].Decision <= d {
			return true
		}
	}
	return false
}
