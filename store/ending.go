package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// CancelOpening cancels an opening.
func (s *Store) CancelOpening(ctx context.Context, ref waitlist.OpeningRef) (no int32, err error) {
	err = s.inShow(ctx, "cancel an opening", ref.ShowID, &no, func(tx pgx.Tx, m moment) error {
		o, err := openingByID(ctx, tx, no, ref.OpeningID, "")
		if err != nil || o.State == waitlist.OpeningCancelled {
			return err
		}
		if o.State != waitlist.OpeningOpen {
			return waitlist.Refuse(waitlist.Conflict, "the opening is %s already; what is final cannot be cancelled", o.State)
		}
		return s.cancel(ctx, tx, no, []int64{o.No}, m)
	})
	return no, err
}

// cancel ends openings outside of a decision. It takes a decision's number, so that
// who joined or left before the end can be told from who did after it.
func (s *Store) cancel(ctx context.Context, tx pgx.Tx, show int32, nos []int64, m moment) error {
	if len(nos) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `UPDATE lines SET decision = decision + 1 WHERE show_no = $1`, show); err != nil {
		return err
	}
	return s.endOpenings(ctx, tx, show, nos, waitlist.OpeningCancelled, m)
}

// endOpenings makes openings final and asks for a decision, which hands their
// seats back. Turns that had not opened never do; the moment is not cut, since one
// that opened in its millisecond was shown. m.decision is the last decision that
// did not know of it.
func (s *Store) endOpenings(ctx context.Context, tx pgx.Tx, show int32, nos []int64, to waitlist.OpeningState, m moment) error {
	if len(nos) == 0 {
		return nil
	}
	at := m.now
	rows, err := tx.Query(ctx, `
		UPDATE openings SET state = $2, final_at = $3, final_decision = $4 WHERE opening_no = ANY($1) RETURNING opening_id`,
		nos, to, at, m.decision)
	ids, err := all(rows, err, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, id := range ids {
		stale(tx, openingKey(show, id))
	}
	stale(tx, newsKey(show))
	if _, err := tx.Exec(ctx, `
		DELETE FROM inbox WHERE kind = 'turn' AND ref = ANY($1) AND visible_at >= $2`, nos, at); err != nil {
		return err
	}
	var events []event
	for _, no := range nos {
		events = append(events, event{Type: notifier.EventType("opening." + string(to)), At: at, ShowNo: show, OpeningNo: no, Live: true})
	}
	if err := s.record(ctx, tx, events...); err != nil {
		return err
	}
	return due(ctx, tx, show, m.now)
}

// handBack hands the seats left of final openings back, once, when no hold stands
// on them any more.
func (s *Store) handBack(ctx context.Context, tx pgx.Tx, show int32, m moment) error {
	rows, err := tx.Query(ctx, `
		WITH back AS (
			UPDATE openings SET handed_back = true
			WHERE show_no = $1 AND state <> 'open' AND NOT handed_back AND held = 0
			RETURNING opening_no, free),
		labels AS (
			UPDATE seats s SET state = 'returned' FROM back b
			WHERE s.opening_no = b.opening_no AND s.state = 'free' RETURNING s.opening_no, s.no, s.label)
		SELECT b.opening_no, b.free, coalesce(array_agg(l.label ORDER BY l.no) FILTER (WHERE l.label IS NOT NULL), '{}')
		FROM back b LEFT JOIN labels l USING (opening_no) WHERE b.free > 0 GROUP BY 1, 2 ORDER BY 1`, show)
	events, err := all(rows, err, func(row pgx.CollectableRow) (event, error) {
		e := event{Type: notifier.SeatsReturned, At: m.now, ShowNo: show}
		var free int
		var labels []string
		err := row.Scan(&e.OpeningNo, &free, &labels)
		e.Data = map[string]any{"quantity": free, "labels": labels}
		return e, err
	})
	if err != nil {
		return err
	}
	return s.record(ctx, tx, events...)
}
