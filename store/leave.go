package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// errHeldSince: a hold appeared between reading and locking; read again.
var errHeldSince = errors.New("the entry claimed in the meantime")

// Leave takes an entry out of the line. Its live turns end and its hold is
// released.
func (s *Store) Leave(ctx context.Context, show, fan string, as waitlist.State, reason string) (to waitlist.Touched, err error) {
	for range tries {
		if to, err = s.leave(ctx, show, fan, as, reason); !errors.Is(err, errHeldSince) {
			break
		}
	}
	return to, err
}

func (s *Store) leave(ctx context.Context, show, fan string, as waitlist.State, reason string) (to waitlist.Touched, err error) {
	err = s.inTx(ctx, "leave", func(tx pgx.Tx) error {
		no, err := showNo(ctx, tx, show)
		if err != nil {
			return err
		}
		if err := lockShared(ctx, tx, no); err != nil {
			return err
		}
		e, err := entryByFan(ctx, tx, no, fan, "")
		if waitlist.CodeOf(err) == waitlist.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		hold, err := lockHold(ctx, tx, &e)
		if err != nil {
			return err
		}
		e, err = entryByFan(ctx, tx, no, fan, " FOR UPDATE OF e")
		if waitlist.CodeOf(err) == waitlist.NotFound {
			return nil // an old show's line was dropped meanwhile
		}
		if err != nil {
			return err
		}
		if !e.State.InLine() {
			return nil
		}
		if now, err := holdOf(ctx, tx, &e); err != nil {
			return err
		} else if (now == nil) != (hold == nil) || now != nil && now.ID != hold.ID {
			return errHeldSince
		}
		to = waitlist.Touched{ShowNo: no, FanNo: e.FanNo}
		return s.end(ctx, tx, &e, hold, as, reason)
	})
	return to, err
}

// holdOf returns the entry's held claim, or nil.
func holdOf(ctx context.Context, q querier, e *waitlist.Entry) (*waitlist.Claim, error) {
	rows, err := q.Query(ctx, `
		SELECT `+claimColumns+` FROM claims c WHERE c.show_no = $1 AND c.eno = $2 AND c.state = 'held'`, e.ShowNo, e.No)
	held, err := all(rows, err, scanClaim)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	return &held[0], nil
}

// lockHold locks the opening on which an entry holds, which comes before the
// entry in the order of locks.
func lockHold(ctx context.Context, tx pgx.Tx, e *waitlist.Entry) (*waitlist.Claim, error) {
	hold, err := holdOf(ctx, tx, e)
	if hold == nil || err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `SELECT FROM openings WHERE opening_no = $1 FOR UPDATE`, hold.OpeningNo)
	return hold, err
}

func (s *Store) end(ctx context.Context, tx pgx.Tx, e *waitlist.Entry, hold *waitlist.Claim, as waitlist.State, reason string) error {
	m, err := look(ctx, tx, e.ShowNo)
	if err != nil {
		return err
	}
	live, err := liveTurns(ctx, tx, e, m)
	if err != nil {
		return err
	}
	act := waitlist.ActLeft
	if as == waitlist.Removed {
		act = waitlist.ActRemoved
	}
	if err := endTurns(ctx, tx, e, live, act, m); err != nil {
		return err
	}
	switch {
	case hold == nil:
		err = setState(ctx, tx, e.ShowNo, []int64{e.No}, m, as, string(as), reason)
	case m.now.Before(hold.ExpiresAt):
		err = s.release(ctx, tx, hold, as, reason, m)
	default: // it was over, if no decision had come to it yet
		err = s.lapse(ctx, tx, hold, as, reason, m)
	}
	if err != nil {
		return err
	}
	if err := s.record(ctx, tx, event{
		Type: notifier.EntryLeft, At: m.now, ShowNo: e.ShowNo, FanNo: e.FanNo, Live: len(live) > 0,
		Data: map[string]any{"state": as},
	}); err != nil {
		return err
	}
	return dueIfOpen(ctx, tx, e.ShowNo, m.now)
}
