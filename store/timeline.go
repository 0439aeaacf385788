package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// The bounds of a timeline.
const (
	timelineWaves = 40    // newest ones of an opening
	timelineTurns = 2_000 // in all, told apart
	rushWaves     = 1_000
	rushOpenings  = 50
	rushClaims    = 100_000
)

// Timeline returns what a show's newest openings did, those that are open first to
// be among them.
func (s *Store) Timeline(ctx context.Context, showNo int32, limit int) (t waitlist.Timeline, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		m, err := look(ctx, tx, showNo)
		if err != nil {
			return err
		}
		t.Now = m.now
		openings, err := newestOpenings(ctx, tx, showNo, limit)
		if err != nil || len(openings) == 0 {
			return err
		}
		for i := range openings {
			t.Openings = append(t.Openings, waitlist.TimedOpening{Opening: openings[i]})
		}
		return timeWaves(ctx, tx, &t)
	})
	return t, err
}

// newestOpenings are a show's newest, of which half may be older ones that are open.
func newestOpenings(ctx context.Context, q querier, showNo int32, limit int) ([]waitlist.Opening, error) {
	rows, err := q.Query(ctx, `
		SELECT `+openingColumns+` FROM openings o WHERE o.opening_no IN (
			(SELECT opening_no FROM openings WHERE show_no = $1 AND state = 'open' ORDER BY opening_no DESC LIMIT $2)
			UNION
			(SELECT opening_no FROM openings WHERE show_no = $1 ORDER BY opening_no DESC LIMIT $3))
		ORDER BY o.opening_no DESC LIMIT $4`, showNo, (limit+1)/2, limit, limit+(limit+1)/2)
	list, err := all(rows, err, scanOpening)
	for len(list) > limit { // the oldest that is over gives way
		i := len(list) - 1
		for i > 0 && list[i].State == waitlist.OpeningOpen {
			i--
		}
		list = append(list[:i], list[i+1:]...)
	}
	return list, err
}

// timeWaves reads the waves of the openings, and of the newest ones the turns.
func timeWaves(ctx context.Context, q querier, t *waitlist.Timeline) error {
	nos := make([]int64, len(t.Openings))
	at := map[int64]*waitlist.TimedOpening{}
	for i := range t.Openings {
		nos[i], at[t.Openings[i].No] = t.Openings[i].No, &t.Openings[i]
	}
	rows, err := q.Query(ctx, `
		SELECT w.* FROM unnest($1::bigint[]) o (no) CROSS JOIN LATERAL (
			SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = o.no AND w.size > 0 ORDER BY w.n DESC LIMIT $2) w
		ORDER BY w.decision DESC, w.opening_no`, nos, timelineWaves+1)
	waves, err := all(rows, err, scanWave)
	if err != nil {
		return err
	}
	room, known := timelineTurns, []waitlist.Wave{}
	for i := range waves {
		if room -= waves[i].Size; room < 0 {
			break
		}
		known = append(known, waves[i])
	}
	acts, err := actsOf(ctx, q, known)
	if err != nil {
		return err
	}
	for i := range waves {
		o := at[waves[i].OpeningNo]
		if len(o.Waves) == timelineWaves {
			o.More = true
			continue
		}
		w := waitlist.TimedWave{Wave: waves[i]}
		if i < len(known) {
			w.Turns = acts.turns(&w.Wave, &o.Opening, t.Now)
		}
		o.Waves = append([]waitlist.TimedWave{w}, o.Waves...)
	}
	return nil
}

// turnAct is an act on a turn, and the state of the claim that came of it.
type turnAct struct {
	waitlist.Act
	claim waitlist.ClaimState
}

// waveActs are the acts on turns of waves, by wave and turn.
type waveActs map[waitlist.WaveRef]map[int]*turnAct

// actsOf reads the acts on the turns of waves, each by its key.
func actsOf(ctx context.Context, q querier, waves []waitlist.Wave) (waveActs, error) {
	acts := waveActs{}
	if len(waves) == 0 {
		return acts, nil
	}
	openings, ns := make([]int64, len(waves)), make([]int32, len(waves))
	for i := range waves {
		openings[i], ns[i] = waves[i].OpeningNo, int32(waves[i].N)
	}
	rows, err := q.Query(ctx, `
		SELECT m.opening_no, m.n, t.k, t.state, t.at, coalesce(c.state, '')
		FROM unnest($1::bigint[], $2::int[]) w (opening_no, n) JOIN wave_members m USING (opening_no, n)
		CROSS JOIN LATERAL unnest(m.enos) AS x (eno)
		CROSS JOIN LATERAL (SELECT k, state, at FROM turns WHERE opening_no = m.opening_no AND eno = x.eno LIMIT 1) t
		LEFT JOIN LATERAL (SELECT state FROM claims WHERE opening_no = m.opening_no AND eno = x.eno LIMIT 1) c ON true`, openings, ns)
	if err != nil {
		return nil, err
	}
	var ref waitlist.WaveRef
	var k int
	var a turnAct
	_, err = pgx.ForEachRow(rows, []any{&ref.OpeningNo, &ref.N, &k, &a.State, &a.At, &a.claim}, func() error {
		if acts[ref] == nil {
			acts[ref] = map[int]*turnAct{}
		}
		one := a
		acts[ref][k] = &one
		return nil
	})
	return acts, err
}

// on is the act on a turn, if there is one.
func (x waveActs) on(w *waitlist.Wave, k int) (*waitlist.Act, waitlist.ClaimState) {
	if a := x[w.Ref()][k]; a != nil {
		return &a.Act, a.claim
	}
	return nil, ""
}

func (x waveActs) turns(w *waitlist.Wave, o *waitlist.Opening, now time.Time) []waitlist.TurnEnd {
	turns := make([]waitlist.TurnEnd, 0, w.Size)
	for k := range w.Size {
		act, claim := x.on(w, k)
		if t, ok := waitlist.TurnEndOf(w, k, act, claim, o.FinalAt, now); ok {
			turns = append(turns, t)
		}
	}
	return turns
}

// WaveEnds counts how the turns of an opening's waves stand or ended, by the waves'
// numbers.
func (s *Store) WaveEnds(ctx context.Context, o *waitlist.Opening, waves []waitlist.Wave) (map[int]waitlist.WaveEnds, error) {
	m, err := look(ctx, s.pool, o.ShowNo)
	if err != nil {
		return nil, err
	}
	acts, err := actsOf(ctx, s.pool, waves)
	ends := make(map[int]waitlist.WaveEnds, len(waves))
	for i := range waves {
		w := &waves[i]
		var n waitlist.WaveEnds
		for k := range w.Size {
			act, claim := acts.on(w, k)
			n.Add(w, k, act, claim, o.FinalAt, m.now)
		}
		ends[w.N] = n
	}
	return ends, err
}

// Rush counts a show's turns and claims of the last steps of time.
func (s *Store) Rush(ctx context.Context, showNo int32, step time.Duration, steps int) (r waitlist.Rush, err error) {
	m, err := look(ctx, s.pool, showNo)
	if err != nil {
		return r, err
	}
	end := m.now.Truncate(step).Add(step)
	r = waitlist.Rush{From: end.Add(-step * time.Duration(steps)), Step: step, Turns: make([]int, steps), Claims: make([]int, steps)}
	rows, err := s.pool.Query(ctx, `
		SELECT `+waveColumns+` FROM waves w WHERE w.show_no = $1 ORDER BY w.decision DESC LIMIT $2`, showNo, rushWaves)
	waves, err := all(rows, err, scanWave)
	if err != nil {
		return r, err
	}
	var openings []int64
	seen := map[int64]bool{}
	for i := range waves {
		w := &waves[i]
		r.AddWave(w)
		// What it told may have been claimed in these minutes.
		if !seen[w.OpeningNo] && w.LastCloses().After(r.From) {
			seen[w.OpeningNo] = true
			openings = append(openings, w.OpeningNo)
		}
	}
	r.Partly = len(waves) == rushWaves && waves[len(waves)-1].DecidedAt.After(r.From) || len(openings) > rushOpenings
	return r, s.addClaims(ctx, &r, openings[:min(len(openings), rushOpenings)])
}

// addClaims counts the claims on openings.
func (s *Store) addClaims(ctx context.Context, r *waitlist.Rush, openings []int64) error {
	rows, err := s.pool.Query(ctx, `
		SELECT floor(extract(epoch FROM claimed_at - $2) / $3)::int, count(*) FROM (
			SELECT c.claimed_at FROM unnest($1::bigint[]) o (no) CROSS JOIN LATERAL (
				SELECT claimed_at FROM claims WHERE opening_no = o.no LIMIT $4) c LIMIT $4) c
		WHERE claimed_at >= $2 GROUP BY 1`, openings, r.From, r.Step.Seconds(), rushClaims)
	if err != nil {
		return err
	}
	var i, n int
	_, err = pgx.ForEachRow(rows, []any{&i, &n}, func() error {
		r.AddClaim(r.From.Add(r.Step*time.Duration(i)), n)
		return nil
	})
	return err
}
