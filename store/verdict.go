package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// Facts reads what a verdict is worked out from, as of one moment.
func (s *Store) Facts(ctx context.Context, ref waitlist.OpeningRef, fan string) (f waitlist.Facts, err error) {
	show, err := showByID(ctx, s.pool, ref.ShowID)
	if err != nil {
		return f, err
	}
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		f, err = s.facts(ctx, tx, &show, ref, fan)
		return err
	})
	f.Members = func(w *waitlist.Wave) ([]waitlist.Member, error) {
		members, err := membersOf(ctx, s.pool, []waitlist.Wave{*w})
		return members[w.Ref()], err
	}
	return f, err
}

func (s *Store) facts(ctx context.Context, tx pgx.Tx, show *waitlist.Show, ref waitlist.OpeningRef, fan string) (f waitlist.Facts, err error) {
	o, err := openingByID(ctx, tx, show.No, ref.OpeningID, "")
	if err != nil {
		return f, err
	}
	f.Show, f.Opening = show, &o
	m, err := look(ctx, tx, show.No)
	if err != nil {
		return f, err
	}
	f.Now = m.now
	e, err := entryByFan(ctx, tx, show.No, fan, "")
	if waitlist.CodeOf(err) == waitlist.NotFound {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.Entry = &e
	if err := s.position(ctx, tx, &e); err != nil {
		return f, err
	}
	logs, err := logsOf(ctx, tx, show.No, []int64{e.No}, 0)
	if err != nil {
		return f, err
	}
	f.Log = logs[e.No]
	if f.Tellings, err = tellingsOf(ctx, tx, &e); err != nil {
		return f, err
	}
	if f.Own, err = claimOf(ctx, tx, o.No, e.No); err != nil {
		return f, err
	}
	rows, err := tx.Query(ctx, `SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = $1 ORDER BY w.n DESC`, o.No)
	f.Waves, err = all(rows, err, scanWave)
	return f, err
}

// claimOf returns an entry's claim on an opening, or nil.
func claimOf(ctx context.Context, q querier, opening, eno int64) (*waitlist.Claim, error) {
	rows, err := q.Query(ctx, `SELECT `+claimColumns+` FROM claims c WHERE c.opening_no = $1 AND c.eno = $2`, opening, eno)
	if err != nil {
		return nil, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, scanClaim)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &c, err
}
