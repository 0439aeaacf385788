package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// Facts gathers what a verdict is worked out from: as of one moment, or, with a
// cache, of parts that are a moment old at most, without a statement where all are
// kept.
func (s *Store) Facts(ctx context.Context, ref waitlist.OpeningRef, fan string) (f waitlist.Facts, err error) {
	f.Members = func(w *waitlist.Wave) ([]waitlist.Member, error) {
		return (&inputs{s: s, q: s.pool, c: s.cache}).members(ctx, w)
	}
	if s.cache != nil {
		return f, (&inputs{s: s, q: s.pool, c: s.cache}).facts(ctx, &f, ref, fan)
	}
	return f, s.snapshot(ctx, func(q querier) error { return (&inputs{s: s, q: q}).facts(ctx, &f, ref, fan) })
}

// snapshot runs f on what is committed at one moment.
func (s *Store) snapshot(ctx context.Context, f func(q querier) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error { return f(tx) })
}

func (in *inputs) facts(ctx context.Context, f *waitlist.Facts, ref waitlist.OpeningRef, fan string) error {
	show, err := in.show(ctx, ref.ShowID)
	if err != nil {
		return err
	}
	o, err := in.opening(ctx, show.No, ref.OpeningID)
	if err != nil {
		return err
	}
	f.Show, f.Opening, f.Waves = show, &o.Opening, o.Waves
	if f.Now, err = in.now(ctx, show.No, o.DecidedAt); err != nil {
		return err
	}
	e, err := in.entry(ctx, show.No, fan)
	if waitlist.CodeOf(err) == waitlist.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	entry := e.Entry
	entry.FanID = fan
	f.Entry, f.Log, f.Own = &entry, e.Log, e.claim(o.No)
	f.Tellings, err = in.tellings(ctx, e, o)
	return err
}

// now is the database's time, never behind the show's last decision. With a cache
// it is told by the clock, without a statement.
func (in *inputs) now(ctx context.Context, show int32, decided time.Time) (time.Time, error) {
	if in.c == nil {
		m, err := look(ctx, in.q, show)
		return m.now, err
	}
	now := in.c.cfg.Clock.Now()
	if now.Before(decided) {
		now = decided
	}
	return now, nil
}

// tellings are the entry's turns at all openings of the show, in the order decided;
// o is the opening that is asked about.
func (in *inputs) tellings(ctx context.Context, e *entryInput, o *openingInput) ([]waitlist.Telling, error) {
	chunk, err := in.chunkFor(ctx, &e.Entry, o)
	if err != nil {
		return nil, err
	}
	var ts []waitlist.Telling
	for i := range chunk.Rows {
		row := &chunk.Rows[i]
		at := slices.Index(row.Enos, e.Entry.No)
		if at < 0 {
			continue
		}
		t, ok, err := in.telling(ctx, e, row, at)
		if err != nil {
			return nil, err
		}
		if ok {
			ts = append(ts, t)
		}
	}
	slices.SortFunc(ts, func(a, b waitlist.Telling) int {
		return cmp.Or(cmp.Compare(a.Decision, b.Decision), cmp.Compare(a.OpeningNo, b.OpeningNo))
	})
	return ts, nil
}

// chunkFor returns the entry's chunk, from after the waves of the opening that may
// have told the entry.
func (in *inputs) chunkFor(ctx context.Context, e *waitlist.Entry, o *openingInput) (*chunkInput, error) {
	no := e.No / chunkSize
	chunk, err := in.chunk(ctx, e.ShowNo, no)
	if err != nil || !o.toldAfter(chunk.Decision, e) {
		return chunk, err
	}
	in.c.stale(ctx, []string{chunkKey(e.ShowNo, no)})
	return in.chunk(ctx, e.ShowNo, no)
}

// telling is the entry's turn in a wave, unless its opening is not known any more.
func (in *inputs) telling(ctx context.Context, e *entryInput, row *chunkRow, at int) (t waitlist.Telling, ok bool, err error) {
	o, err := in.opening(ctx, e.Entry.ShowNo, row.OpeningID)
	if err != nil {
		return t, false, err
	}
	w := o.wave(row.N)
	if w == nil { // the opening is from before the wave
		in.c.stale(ctx, []string{openingKey(e.Entry.ShowNo, row.OpeningID)})
		if o, err = in.opening(ctx, e.Entry.ShowNo, row.OpeningID); err != nil {
			return t, false, err
		}
		if w = o.wave(row.N); w == nil {
			return t, false, nil
		}
	}
	t = telling(w, &o.Opening, waitlist.Member{K: int(row.Ks[at]), Party: int(row.Parties[at])})
	t.Act, t.Unreached = e.act(o.No), slices.Contains(e.Unreached, o.No)
	return t, true, nil
}
