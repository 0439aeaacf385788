package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// GiveTurn puts an entry before the line for the next turn of an opening.
func (s *Store) GiveTurn(ctx context.Context, ref waitlist.OpeningRef, fan, reason string) (no int32, err error) {
	err = s.inShow(ctx, "give a turn", ref.ShowID, &no, func(tx pgx.Tx, m moment) error {
		o, err := openingByID(ctx, tx, no, ref.OpeningID, "")
		if err != nil {
			return err
		}
		e, err := entryByFan(ctx, tx, no, fan, "")
		if err != nil {
			return err
		}
		if err := s.mayGive(ctx, tx, &o, &e, m); err != nil {
			return err
		}
		if slices.Contains(o.Given, e.No) {
			return nil
		}
		if err := logGiven(ctx, tx, &e, &o, m, reason); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE openings SET given = given || $2::bigint WHERE opening_no = $1`, o.No, e.No); err != nil {
			return err
		}
		return due(ctx, tx, no, m.now)
	})
	return no, err
}

func (s *Store) mayGive(ctx context.Context, tx pgx.Tx, o *waitlist.Opening, e *waitlist.Entry, m moment) error {
	refuse := func(why string) error { return waitlist.Refuse(waitlist.Conflict, "%s", why) }
	switch {
	case o.State != waitlist.OpeningOpen:
		return refuse("the opening is " + string(o.State))
	case e.State == waitlist.Holding:
		return refuse("this fan holds seats of this show")
	case e.State != waitlist.Waiting:
		return refuse("this fan is not in line (" + string(e.State) + ")")
	case !o.Takes(e.Tier):
		return refuse("the opening is of another tier")
	case e.Party > o.SeatsLeft():
		return refuse("the party is larger than the seats left")
	}
	if o.Adjacent {
		free, err := adjacentSeats(ctx, tx, o.No)
		if err != nil {
			return err
		}
		if e.Party > waitlist.LongestRun(free) {
			return refuse("there are not so many free seats side by side")
		}
	}
	tellings, err := tellingsOf(ctx, tx, e)
	if err != nil {
		return err
	}
	for i := range tellings {
		t := &tellings[i]
		if t.OpeningNo == o.No {
			return refuse("this fan was told of this opening already")
		}
		if o.Mode == waitlist.ModeTurns && t.Mode == waitlist.ModeTurns && t.Live(m.now) {
			return refuse("this fan has a turn at another opening now")
		}
	}
	return nil
}

// adjacentSeats says seat by seat which are free.
func adjacentSeats(ctx context.Context, q querier, opening int64) ([]bool, error) {
	rows, err := q.Query(ctx, `SELECT state = 'free' FROM seats WHERE opening_no = $1 ORDER BY no`, opening)
	return all(rows, err, pgx.RowTo[bool])
}
