package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// ChangeEntry changes party and tier, which shares the show's lock, or the place
// too, which takes it alone.
func (s *Store) ChangeEntry(ctx context.Context, show, fan string, c waitlist.EntryChange) (e waitlist.Entry, no int32, err error) {
	err = s.inTx(ctx, "change an entry", func(tx pgx.Tx) error {
		if no, err = showNo(ctx, tx, show); err != nil {
			return err
		}
		lock := lockShared
		if c.Move != "" {
			lock = lockExclusive
		}
		if err := lock(ctx, tx, no); err != nil {
			return err
		}
		e, err = s.changeEntry(ctx, tx, no, fan, c)
		return err
	})
	if err != nil {
		return e, 0, err
	}
	err = s.position(ctx, s.pool, &e)
	return e, no, err
}

func (s *Store) changeEntry(ctx context.Context, tx pgx.Tx, no int32, fan string, c waitlist.EntryChange) (waitlist.Entry, error) {
	e, err := entryByFan(ctx, tx, no, fan, " FOR UPDATE OF e")
	if err != nil {
		return e, err
	}
	if !e.State.InLine() {
		return e, waitlist.Refuse(waitlist.Conflict, "this fan is not in line any more (%s)", e.State)
	}
	m, err := look(ctx, tx, no)
	if err != nil {
		return e, err
	}
	was := e
	if c.Party != nil {
		e.Party = *c.Party
	}
	if c.Tier != nil {
		e.Tier = *c.Tier
	}
	if e.Party != was.Party || e.Tier != was.Tier {
		if err := s.changeParty(ctx, tx, &was, &e, m); err != nil {
			return e, err
		}
	}
	if c.Move != "" {
		if err := s.move(ctx, tx, &e, c, m); err != nil {
			return e, err
		}
	}
	return e, dueIfOpen(ctx, tx, no, m.now)
}

// changeParty writes another party or tier, unless a live turn or hold forbids it.
func (s *Store) changeParty(ctx context.Context, tx pgx.Tx, was, e *waitlist.Entry, m moment) error {
	if was.State == waitlist.Holding {
		return waitlist.Refuse(waitlist.Conflict, "party_size and tier cannot change while seats are held")
	}
	live, err := liveTurns(ctx, tx, was, m)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		return waitlist.Refuse(waitlist.Conflict, "party_size and tier cannot change while a turn is upcoming or open; wait until it is over or decline it")
	}
	if err := logEntries(ctx, tx, e.ShowNo, []int64{e.No}, m, "changed", ""); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE entries SET party = $3, tier = $4 WHERE show_no = $1 AND eno = $2`,
		e.ShowNo, e.No, e.Party, e.Tier)
	return err
}

// move puts an entry to the front, or back to the place before its last move or
// rejoin.
func (s *Store) move(ctx context.Context, tx pgx.Tx, e *waitlist.Entry, c waitlist.EntryChange, m moment) error {
	what := "moved"
	if c.Move == waitlist.MoveRestore {
		what = "restored"
	}
	err := logEntries(ctx, tx, e.ShowNo, []int64{e.No}, m, what, c.Reason)
	if err != nil {
		return err
	}
	if c.Move == waitlist.MoveFront {
		err = tx.QueryRow(ctx, `
			WITH front AS (UPDATE lines SET front_place = front_place - 1 WHERE show_no = $1 RETURNING front_place + 1 AS place)
			UPDATE entries e SET prev_place = e.place, place = front.place FROM front
			WHERE e.show_no = $1 AND e.eno = $2 RETURNING e.place`, e.ShowNo, e.No).Scan(&e.Place)
	} else {
		err = tx.QueryRow(ctx, `
			UPDATE entries SET place = prev_place, prev_place = NULL
			WHERE show_no = $1 AND eno = $2 AND prev_place IS NOT NULL RETURNING place`, e.ShowNo, e.No).Scan(&e.Place)
		if errors.Is(err, pgx.ErrNoRows) {
			return waitlist.Refuse(waitlist.Conflict, "there is no earlier place to restore")
		}
	}
	if err != nil {
		return err
	}
	return s.record(ctx, tx, event{
		Type: notifier.EntryMoved, At: m.now, ShowNo: e.ShowNo, FanNo: e.FanNo,
		Data: map[string]any{"move": c.Move, "place": e.Place},
	})
}
