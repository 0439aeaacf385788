package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// traceWaves is how many waves of one opening a trace looks at: the newest that
// walked past the entry decides, unless it has no reason to skip it.
const traceWaves = 100

// Trace reads what a page of a fan's trace is worked out from, as of one moment.
func (s *Store) Trace(ctx context.Context, show, fan string, before int64, limit int) (f waitlist.TraceFacts, err error) {
	sh, err := showByID(ctx, s.pool, show)
	if err != nil {
		return f, err
	}
	f.Show = &sh
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := traceOpenings(ctx, tx, &f, before, limit); err != nil {
			return err
		}
		return s.traceEntry(ctx, tx, &f, fan)
	})
	f.MembersOf = func(waves []waitlist.Wave) (map[waitlist.WaveRef][]waitlist.Member, error) {
		return membersOf(ctx, s.pool, waves)
	}
	return f, err
}

func traceOpenings(ctx context.Context, tx pgx.Tx, f *waitlist.TraceFacts, before int64, limit int) error {
	rows, err := tx.Query(ctx, `
		SELECT `+openingColumns+` FROM openings o WHERE o.show_no = $1 AND ($2 = 0 OR o.opening_no < $2)
		ORDER BY o.opening_no DESC LIMIT $3`, f.Show.No, before, limit)
	list, err := all(rows, err, scanOpening)
	if err != nil {
		return err
	}
	f.Openings = make([]waitlist.TraceOpening, len(list))
	for i, o := range list {
		o.ShowID = f.Show.ID
		f.Openings[i].Opening = o
	}
	return nil
}

// traceEntry reads what is known of the fan; nothing where they never were in line.
func (s *Store) traceEntry(ctx context.Context, tx pgx.Tx, f *waitlist.TraceFacts, fan string) error {
	m, err := look(ctx, tx, f.Show.No)
	if err != nil {
		return err
	}
	f.Now = m.now
	e, err := entryByFan(ctx, tx, f.Show.No, fan, "")
	if waitlist.CodeOf(err) == waitlist.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	f.Entry = &e
	if err := s.position(ctx, tx, &e); err != nil {
		return err
	}
	if err := traceLog(ctx, tx, f); err != nil {
		return err
	}
	if f.Tellings, err = tellingsOf(ctx, tx, &e); err != nil {
		return err
	}
	if err := markUnreached(ctx, tx, e.No, f.Tellings); err != nil {
		return err
	}
	return traceOwn(ctx, tx, f)
}

func traceLog(ctx context.Context, tx pgx.Tx, f *waitlist.TraceFacts) error {
	rows, err := tx.Query(ctx, `
		SELECT `+changeColumns+`, coalesce(o.opening_id, '')
		FROM entry_log l LEFT JOIN openings o USING (opening_no) WHERE l.show_no = $1 AND l.eno = $2 ORDER BY l.id`,
		f.Show.No, f.Entry.No)
	if err != nil {
		return err
	}
	f.GivenAt = map[int]string{}
	var c waitlist.Change
	var given string
	_, err = pgx.ForEachRow(rows, append(changeFields(&c), &given), func() error {
		if given != "" {
			f.GivenAt[len(f.Log)] = given
		}
		f.Log = append(f.Log, c)
		return nil
	})
	return err
}

// traceOwn reads the claims of the page's openings, and the waves of those that
// told the entry nothing.
func traceOwn(ctx context.Context, tx pgx.Tx, f *waitlist.TraceFacts) error {
	at := make(map[int64]*waitlist.TraceOpening, len(f.Openings))
	nos := make([]int64, len(f.Openings))
	for i := range f.Openings {
		nos[i], at[f.Openings[i].No] = f.Openings[i].No, &f.Openings[i]
	}
	rows, err := tx.Query(ctx, `
		SELECT `+claimColumns+` FROM claims c WHERE c.opening_no = ANY($1) AND c.eno = $2`, nos, f.Entry.No)
	claims, err := all(rows, err, scanClaim)
	if err != nil {
		return err
	}
	for i := range claims {
		at[claims[i].OpeningNo].Own = &claims[i]
	}
	told := map[int64]bool{}
	for i := range f.Tellings {
		told[f.Tellings[i].OpeningNo] = true
	}
	var untold []int64
	for _, no := range nos {
		if !told[no] {
			untold = append(untold, no)
		}
	}
	// Where the walk never came as far as the entry's foremost place, it was not
	// walked past.
	foremost := f.Entry.Place
	for i := range f.Log {
		foremost = min(foremost, f.Log[i].Before.Place)
	}
	rows, err = tx.Query(ctx, `
		SELECT w.* FROM unnest($1::bigint[]) o (no) CROSS JOIN LATERAL (
			SELECT `+waveColumns+` FROM waves w
			WHERE w.opening_no = o.no AND w.walked_to >= $2 AND w.decision > $3 ORDER BY w.n DESC LIMIT $4) w
		ORDER BY w.opening_no, w.n DESC`, untold, foremost, f.Entry.JoinedDecision, traceWaves)
	waves, err := all(rows, err, scanWave)
	for _, w := range waves {
		o := at[w.OpeningNo]
		o.Waves = append(o.Waves, w)
	}
	return err
}
