package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// withClaim runs f on a claim with its opening and entry locked, in that order.
func (s *Store) withClaim(ctx context.Context, what, id string, f func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error) (c waitlist.Claim, err error) {
	err = s.inTxOnce(ctx, what, func(tx pgx.Tx) (any, int64, error) {
		if c, err = claimByID(ctx, tx, id, ""); err != nil {
			return nil, 0, err
		}
		if err := lockShared(ctx, tx, c.ShowNo); err != nil {
			return nil, 0, err
		}
		o, err := openingByID(ctx, tx, c.ShowNo, c.OpeningID, " FOR UPDATE")
		if err != nil {
			return nil, 0, err
		}
		if _, err := tx.Exec(ctx, `SELECT FROM entries WHERE show_no = $1 AND eno = $2 FOR UPDATE`, c.ShowNo, c.EntryNo); err != nil {
			return nil, 0, err
		}
		if c, err = claimByID(ctx, tx, id, ""); err != nil { // again, under the locks
			return nil, 0, err
		}
		m, err := look(ctx, tx, c.ShowNo)
		if err != nil {
			return nil, 0, err
		}
		if err := f(tx, &c, &o, m); err != nil {
			return nil, 0, err
		}
		if c.FanID == "" { // erased: the answer names nobody
			return c, 0, nil
		}
		return c, c.FanNo, nil
	})
	return c, err
}

// stillHeld refuses what is over. same says that the wish was fulfilled before.
func stillHeld(c *waitlist.Claim, wish waitlist.ClaimState, now time.Time) (same bool, err error) {
	switch {
	case c.State == wish:
		return true, nil
	case c.State == waitlist.ClaimHeld && now.Before(c.ExpiresAt):
		return false, nil
	case c.State == waitlist.ClaimConfirmed:
		return false, waitlist.Refuse(waitlist.Conflict, "the claim is confirmed; report a cancelled purchase as a new opening")
	case c.State == waitlist.ClaimReleased:
		return false, waitlist.Refuse(waitlist.TurnOver, "the claim was released")
	}
	return false, waitlist.Refuse(waitlist.TurnOver, "the hold ended at %s", c.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Confirm makes a hold a purchase and ends the fan's other turns in the show.
func (s *Store) Confirm(ctx context.Context, id string) (waitlist.Claim, error) {
	return s.withClaim(ctx, "confirm a claim", id, func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error {
		if same, err := stillHeld(c, waitlist.ClaimConfirmed, m.now); same || err != nil {
			return err
		}
		c.State = waitlist.ClaimConfirmed
		e := waitlist.Entry{ShowNo: c.ShowNo, No: c.EntryNo, FanNo: c.FanNo}
		live, err := liveTurns(ctx, tx, &e, m)
		if err != nil {
			return err
		}
		if err := endTurns(ctx, tx, &e, live, waitlist.ActBought, m); err != nil {
			return err
		}
		if err := setState(ctx, tx, c.ShowNo, []int64{c.EntryNo}, m, waitlist.Bought, "bought", ""); err != nil {
			return err
		}
		if err := endClaims(ctx, tx, []waitlist.Claim{*c}, waitlist.ClaimConfirmed, "", m); err != nil {
			return err
		}
		if err := insertResults(ctx, tx, []waitlist.Claim{*c}, waitlist.ClaimConfirmed, m); err != nil {
			return err
		}
		if err := s.record(ctx, tx, claimEvent(c, notifier.ClaimConfirmed, m)); err != nil {
			return err
		}
		return due(ctx, tx, c.ShowNo, m.now)
	})
}

// Release gives a hold's seats back; the fan keeps the place for later openings.
func (s *Store) Release(ctx context.Context, id, reason string) (waitlist.Claim, error) {
	return s.withClaim(ctx, "release a claim", id, func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error {
		if same, err := stillHeld(c, waitlist.ClaimReleased, m.now); same || err != nil {
			return err
		}
		c.State = waitlist.ClaimReleased
		return s.release(ctx, tx, c, waitlist.Waiting, reason, m)
	})
}

// Extend lets a hold last longer.
func (s *Store) Extend(ctx context.Context, id string, by time.Duration) (waitlist.Claim, error) {
	return s.withClaim(ctx, "extend a claim", id, func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error {
		if _, err := stillHeld(c, "", m.now); err != nil {
			return err
		}
		at, err := c.ExtendTo(by, o.Hold)
		if err != nil {
			return err
		}
		c.ExpiresAt = at
		staleFans(tx, c.ShowNo, c.FanNo)
		if _, err := tx.Exec(ctx, `UPDATE claims SET expires_at = $2 WHERE id = $1`, id, at); err != nil {
			return err
		}
		return due(ctx, tx, c.ShowNo, at)
	})
}

// release ends a hold and leaves its entry in the given state.
func (s *Store) release(ctx context.Context, tx pgx.Tx, c *waitlist.Claim, to waitlist.State, reason string, m moment) error {
	what := "released"
	if to != waitlist.Waiting {
		what = string(to)
	}
	if err := setState(ctx, tx, c.ShowNo, []int64{c.EntryNo}, m, to, what, reason); err != nil {
		return err
	}
	if err := endClaims(ctx, tx, []waitlist.Claim{*c}, waitlist.ClaimReleased, reason, m); err != nil {
		return err
	}
	if err := s.record(ctx, tx, claimEvent(c, notifier.ClaimReleased, m)); err != nil {
		return err
	}
	return due(ctx, tx, c.ShowNo, m.now)
}

// lapse ends a hold past its expiry, and leaves its entry in the given state.
func (s *Store) lapse(ctx context.Context, tx pgx.Tx, c *waitlist.Claim, to waitlist.State, reason string, m moment) error {
	if err := setState(ctx, tx, c.ShowNo, []int64{c.EntryNo}, m, to, string(to), reason); err != nil {
		return err
	}
	lapsed := []waitlist.Claim{*c}
	if err := endClaims(ctx, tx, lapsed, waitlist.ClaimLapsed, "", m); err != nil {
		return err
	}
	if err := insertResults(ctx, tx, lapsed, waitlist.ClaimLapsed, m); err != nil {
		return err
	}
	if err := s.record(ctx, tx, claimEvent(c, notifier.ClaimLapsed, m)); err != nil {
		return err
	}
	return due(ctx, tx, c.ShowNo, m.now)
}

// endClaims ends holds: their seats are confirmed, or free again.
func endClaims(ctx context.Context, tx pgx.Tx, cs []waitlist.Claim, to waitlist.ClaimState, reason string, m moment) error {
	ids := make([]string, len(cs))
	openings, seats := make([]int64, len(cs)), make([]int32, len(cs))
	for i := range cs {
		ids[i], openings[i], seats[i] = cs[i].ID, cs[i].OpeningNo, int32(cs[i].Seats)
		staleFans(tx, cs[i].ShowNo, cs[i].FanNo)
	}
	seat, column := "free", "free"
	if to == waitlist.ClaimConfirmed {
		seat, column = "confirmed", "confirmed"
	}
	if _, err := tx.Exec(ctx, `
		UPDATE claims SET state = $2, ended_at = $3, reason = $4 WHERE id = ANY($1)`, ids, to, m.now, reason); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE openings o SET held = held - t.n, `+column+` = `+column+` + t.n
		FROM (SELECT opening, sum(n) AS n FROM unnest($1::bigint[], $2::int[]) t (opening, n) GROUP BY 1) t
		WHERE o.opening_no = t.opening`, openings, seats); err != nil {
		return err
	}
	// Said so, it does not invite the index of all that are free or held.
	_, err := tx.Exec(ctx, `
		UPDATE seats SET state = $2, claim = CASE WHEN $2 = 'confirmed' THEN claim END
		WHERE claim = ANY($1) AND state <> 'confirmed'`, ids, seat)
	return err
}

// insertResults puts the results of claims into their fans' inboxes.
func insertResults(ctx context.Context, tx pgx.Tx, cs []waitlist.Claim, state waitlist.ClaimState, m moment) error {
	fans, openings, enos := make([]int64, len(cs)), make([]int64, len(cs)), make([]int64, len(cs))
	shows, seats := make([]int32, len(cs)), make([]int32, len(cs))
	for i, c := range cs {
		fans[i], openings[i], enos[i], shows[i], seats[i] = c.FanNo, c.OpeningNo, c.EntryNo, c.ShowNo, int32(c.Seats)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats, state)
		SELECT fan, 'result', opening, $1, show, eno, seats, $2
		FROM unnest($3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::int[]) c (fan, opening, show, eno, seats)
		ON CONFLICT DO NOTHING`, m.now.Truncate(time.Millisecond), string(state), fans, openings, shows, enos, seats)
	return err
}

func claimEvent(c *waitlist.Claim, t notifier.EventType, m moment) event {
	return event{
		Type: t, At: m.now, ShowNo: c.ShowNo, OpeningNo: c.OpeningNo, FanNo: c.FanNo, Live: true,
		Data: map[string]any{"claim": c.ID, "seats": c.Seats},
	}
}
