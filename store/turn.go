package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// tellingsOf returns an entry's turns at all openings of its show.
func tellingsOf(ctx context.Context, q querier, e *waitlist.Entry) ([]waitlist.Telling, error) {
	byEntry, err := tellingsIn(ctx, q, e.ShowNo, []int64{e.No})
	return byEntry[e.No], err
}

// tellingsIn returns the turns of entries at all openings of a show, in the order
// decided.
func tellingsIn(ctx context.Context, q querier, show int32, enos []int64) (map[int64][]waitlist.Telling, error) {
	return tellings(ctx, q, `m.show_no = $1 AND m.chunk = ANY($2)`, enos, show, chunksOf(enos))
}

// tellingsAt returns the turns of entries at one opening.
func tellingsAt(ctx context.Context, q querier, show int32, opening int64, enos []int64) (map[int64]*waitlist.Telling, error) {
	byEntry, err := tellings(ctx, q, `m.show_no = $1 AND m.chunk = ANY($2) AND m.opening_no = $3`, enos,
		show, chunksOf(enos), opening)
	one := make(map[int64]*waitlist.Telling, len(byEntry))
	for no, ts := range byEntry {
		one[no] = &ts[0]
	}
	return one, err
}

func tellings(ctx context.Context, q querier, where string, enos []int64, args ...any) (map[int64][]waitlist.Telling, error) {
	want := make(map[int64]bool, len(enos))
	for _, no := range enos {
		want[no] = true
	}
	rows, err := q.Query(ctx, `
		SELECT `+memberColumns+`, `+waveColumns+`, o.opening_id, o.mode, o.state, o.final_at, o.final_decision
		FROM wave_members m JOIN waves w USING (opening_no, n) JOIN openings o USING (opening_no)
		WHERE `+where+` ORDER BY w.decision, w.opening_no`, args...)
	if err != nil {
		return nil, err
	}
	found := map[int64][]waitlist.Telling{}
	var m memberRow
	var w waitlist.Wave
	var window int
	var o waitlist.Opening
	fields := append([]any{&m.chunk, &m.opening, &m.n, &m.enos, &m.fans, &m.ks, &m.parties, &m.places, &m.given},
		append(waveFields(&w, &window), &o.ID, &o.Mode, &o.State, &o.FinalAt, &o.FinalDecision)...)
	if _, err := pgx.ForEachRow(rows, fields, func() error {
		w.Window = time.Duration(window) * time.Second
		for i, no := range m.enos {
			if want[no] {
				found[no] = append(found[no], telling(&w, &o, m.at(i)))
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return found, addActs(ctx, q, found)
}

func telling(w *waitlist.Wave, o *waitlist.Opening, m waitlist.Member) waitlist.Telling {
	t := waitlist.Telling{
		OpeningNo: w.OpeningNo, OpeningID: o.ID, Mode: o.Mode, N: w.N, K: m.K, Party: m.Party, Place: m.Place,
		Opens: w.Opens(m.K), Closes: w.Closes(m.K), Decision: w.Decision,
		Final: o.State, FinalDecision: o.FinalDecision,
	}
	if o.FinalAt != nil {
		at := *o.FinalAt // the scan's target is used again
		t.FinalAt = &at
	}
	return t
}

// addActs adds the acts that ended turns.
func addActs(ctx context.Context, q querier, found map[int64][]waitlist.Telling) error {
	if len(found) == 0 {
		return nil
	}
	var openings, enos []int64
	for no, ts := range found {
		for i := range ts {
			openings, enos = append(openings, ts[i].OpeningNo), append(enos, no)
		}
	}
	rows, err := q.Query(ctx, `
		SELECT opening_no, eno, state, at, decision FROM turns
		JOIN unnest($1::bigint[], $2::bigint[]) t (opening_no, eno) USING (opening_no, eno)`, openings, enos)
	if err != nil {
		return err
	}
	var opening, eno int64
	var act waitlist.Act
	_, err = pgx.ForEachRow(rows, []any{&opening, &eno, &act.State, &act.At, &act.Decision}, func() error {
		for i := range found[eno] {
			if t := &found[eno][i]; t.OpeningNo == opening {
				a := act
				t.Act = &a
			}
		}
		return nil
	})
	return err
}

// liveTurns are an entry's upcoming and open turns.
func liveTurns(ctx context.Context, q querier, e *waitlist.Entry, m moment) ([]waitlist.Telling, error) {
	ts, err := tellingsOf(ctx, q, e)
	var live []waitlist.Telling
	for i := range ts {
		if ts[i].Live(m.now) {
			live = append(live, ts[i])
		}
	}
	return live, err
}

// act is an act to be stored.
type act struct {
	opening, eno, fan int64
	n, k              int
	state             waitlist.ActState
}

// writeActs stores acts. An act on a turn that another act ended changes nothing.
func writeActs(ctx context.Context, tx pgx.Tx, show int32, acts []act, m moment) error {
	if len(acts) == 0 {
		return nil
	}
	var openings, enos []int64
	var ns, ks []int32
	var states []string
	for _, a := range acts {
		staleFans(tx, show, a.fan)
		openings, enos = append(openings, a.opening), append(enos, a.eno)
		ns, ks, states = append(ns, int32(a.n)), append(ks, int32(a.k)), append(states, string(a.state))
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO turns (opening_no, eno, show_no, n, k, state, at, decision)
		SELECT opening, eno, $1, n, k, state, $2, $3
		FROM unnest($4::bigint[], $5::bigint[], $6::int[], $7::int[], $8::text[]) a (opening, eno, n, k, state)
		ON CONFLICT DO NOTHING`, show, m.now, m.decision, openings, enos, ns, ks, states)
	return err
}

// endTurns ends an entry's live turns by an act of the given state. Items of turns
// that had not opened never were.
func endTurns(ctx context.Context, tx pgx.Tx, e *waitlist.Entry, live []waitlist.Telling, state waitlist.ActState, m moment) error {
	acts := make([]act, len(live))
	upcoming := []int64{}
	for i := range live {
		t := &live[i]
		acts[i] = act{opening: t.OpeningNo, eno: e.No, fan: e.FanNo, n: t.N, k: t.K, state: state}
		if t.Opens.After(m.now) {
			upcoming = append(upcoming, t.OpeningNo)
		}
	}
	if err := writeActs(ctx, tx, e.ShowNo, acts, m); err != nil || len(upcoming) == 0 {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM inbox WHERE fan_no = $1 AND kind = 'turn' AND ref = ANY($2)`, e.FanNo, upcoming)
	return err
}

// Decline ends a fan's open turn. An act: the count of missed turns is 0.
func (s *Store) Decline(ctx context.Context, ref waitlist.OpeningRef, fan string) (to waitlist.Touched, err error) {
	err = s.inTxOnce(ctx, "decline", func(tx pgx.Tx) (any, int64, error) {
		o, err := resolve(ctx, tx, ref)
		if err != nil {
			return nil, 0, err
		}
		no := o.ShowNo
		if err := lockShared(ctx, tx, no); err != nil {
			return nil, 0, err
		}
		e, err := entryByFan(ctx, tx, no, fan, " FOR UPDATE OF e")
		if waitlist.CodeOf(err) == waitlist.NotFound {
			return nil, 0, waitlist.Refuse(waitlist.NotYourTurn, "this fan has no turn for this opening")
		}
		if err != nil {
			return nil, 0, err
		}
		m, err := look(ctx, tx, no)
		if err != nil {
			return nil, 0, err
		}
		to = waitlist.Touched{ShowNo: no, FanNo: e.FanNo}
		return nil, e.FanNo, s.decline(ctx, tx, &o, &e, m)
	})
	return to, err
}

func (s *Store) decline(ctx context.Context, tx pgx.Tx, o *waitlist.Opening, e *waitlist.Entry, m moment) error {
	told, err := tellingsAt(ctx, tx, o.ShowNo, o.No, []int64{e.No})
	if err != nil {
		return err
	}
	t := told[e.No]
	switch {
	case t == nil:
		return waitlist.Refuse(waitlist.NotYourTurn, "this fan has no turn for this opening")
	case t.Act != nil && t.Act.State == waitlist.ActDeclined:
		return nil
	case t.Act != nil && t.Act.State == waitlist.ActClaimed:
		return waitlist.Refuse(waitlist.AlreadyClaimed, "this turn was claimed; release the claim instead")
	}
	switch t.At(m.now) {
	case waitlist.PhaseNever, waitlist.PhaseUpcoming:
		return waitlist.Refuse(waitlist.NotYourTurn, "the turn has not opened yet")
	case waitlist.PhaseOver:
		return waitlist.Refuse(waitlist.TurnOver, "the turn is over")
	}
	if err := writeActs(ctx, tx, o.ShowNo, []act{{o.No, e.No, e.FanNo, t.N, t.K, waitlist.ActDeclined}}, m); err != nil {
		return err
	}
	if err := acted(ctx, tx, e, m); err != nil {
		return err
	}
	if err := s.record(ctx, tx, event{
		Type: notifier.TurnDeclined, At: m.now, ShowNo: o.ShowNo, OpeningNo: o.No, FanNo: e.FanNo, Live: true,
	}); err != nil {
		return err
	}
	return due(ctx, tx, o.ShowNo, m.now)
}

// acted notes a claim or decline: nothing is missed in a row any more, and a
// dormant entry is awake.
func acted(ctx context.Context, tx pgx.Tx, e *waitlist.Entry, m moment) error {
	if e.Dormant {
		return wake(ctx, tx, e.ShowNo, []int64{e.No}, m)
	}
	if e.Missed == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE entries SET missed = 0 WHERE show_no = $1 AND eno = $2`, e.ShowNo, e.No)
	return err
}
