package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

const showColumns = `show_no, show_id, name, venue, starts_at, sales_close_at, time_zone, url,
	templates, policy, paused_app, paused_staff, cancelled, dropping_at IS NOT NULL`

func scanShow(row pgx.CollectableRow) (s waitlist.Show, err error) {
	err = row.Scan(&s.No, &s.ID, &s.Name, &s.Venue, &s.StartsAt, &s.SalesCloseAt, &s.TimeZone, &s.URL,
		&s.Templates, &s.Policy, &s.PausedApp, &s.PausedStaff, &s.Cancelled, &s.Over)
	return s, err
}

// querier is a transaction or the pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// showByID reads a show's own row, without what is worked out.
func showByID(ctx context.Context, q querier, id string) (waitlist.Show, error) {
	rows, err := q.Query(ctx, `SELECT `+showColumns+` FROM shows WHERE show_id = $1`, id)
	if err != nil {
		return waitlist.Show{}, err
	}
	s, err := pgx.CollectExactlyOneRow(rows, scanShow)
	return s, notFound(err, "show", id)
}

// showNo resolves a show's id.
func showNo(ctx context.Context, q querier, id string) (no int32, err error) {
	err = q.QueryRow(ctx, `SELECT show_no FROM shows WHERE show_id = $1`, id).Scan(&no)
	return no, notFound(err, "show", id)
}

// PutShow makes or changes a show.
func (s *Store) PutShow(ctx context.Context, id string, c waitlist.ShowChange, check func(*waitlist.Show) error) (show waitlist.Show, created bool, err error) {
	err = s.inTx(ctx, "put a show", func(tx pgx.Tx) error {
		show, created, err = s.putShow(ctx, tx, id, c, check)
		return err
	})
	if err != nil {
		return waitlist.Show{}, false, err
	}
	err = s.fillShow(ctx, s.pool, &show)
	return show, created, err
}

func (s *Store) putShow(ctx context.Context, tx pgx.Tx, id string, c waitlist.ShowChange, check func(*waitlist.Show) error) (show waitlist.Show, created bool, err error) {
	show, err = showByID(ctx, tx, id)
	if waitlist.CodeOf(err) == waitlist.NotFound {
		show = c.Apply(waitlist.Show{ID: id, TimeZone: "UTC", Policy: waitlist.DefaultPolicy()})
		if err := check(&show); err != nil {
			return show, false, err
		}
		created, err = insertShow(ctx, tx, &show)
		if err != nil || created {
			return show, created, err
		}
	} else if err != nil {
		return show, false, err
	}
	if err := lockExclusive(ctx, tx, show.No); err != nil {
		return show, false, err
	}
	was, err := showByID(ctx, tx, id) // again, under the lock
	if err != nil {
		return show, false, err
	}
	if err := was.Shut(); err != nil {
		return show, false, err
	}
	show = c.Apply(was)
	if err := check(&show); err != nil {
		return show, false, err
	}
	return show, false, s.updateShow(ctx, tx, &was, &show)
}

// insertShow is not created when another request made the show in the meantime.
func insertShow(ctx context.Context, tx pgx.Tx, s *waitlist.Show) (created bool, err error) {
	stale(tx, showKey(s.ID))
	err = tx.QueryRow(ctx, `
		INSERT INTO shows (show_id, name, venue, starts_at, sales_close_at, time_zone, url, templates, policy, paused_app)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (show_id) DO NOTHING RETURNING show_no`,
		s.ID, s.Name, s.Venue, s.StartsAt, s.SalesCloseAt, s.TimeZone, s.URL, jsonOf(s.Templates), jsonOf(s.Policy), s.PausedApp).
		Scan(&s.No)
	if errors.Is(err, pgx.ErrNoRows) {
		s.No, err = showNo(ctx, tx, s.ID)
		return false, err
	}
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO lines (show_no) VALUES ($1)`, s.No)
	return true, err
}

// updateShow writes the show and makes a nearer close of sales hold for the turns
// already decided; what a fan was shown changes only by ending early.
func (db *Store) updateShow(ctx context.Context, tx pgx.Tx, was, s *waitlist.Show) error {
	stale(tx, showKey(s.ID), newsKey(s.No))
	if _, err := tx.Exec(ctx, `
		UPDATE shows SET name = $2, venue = $3, starts_at = $4, sales_close_at = $5, time_zone = $6, url = $7,
			templates = $8, policy = $9, paused_app = $10 WHERE show_no = $1`,
		s.No, s.Name, s.Venue, s.StartsAt, s.SalesCloseAt, s.TimeZone, s.URL, jsonOf(s.Templates), jsonOf(s.Policy), s.PausedApp); err != nil {
		return err
	}
	m, err := look(ctx, tx, s.No)
	if err != nil {
		return err
	}
	if s.SalesClose().Before(was.SalesClose()) {
		if err := db.capWaves(ctx, tx, s.No, s.SalesClose(), m.now); err != nil {
			return err
		}
	}
	if from, to := was.Policy.ReleasePerS, s.Policy.ReleasePerS; from != to {
		if err := repace(ctx, tx, s.No, from, to); err != nil {
			return err
		}
	}
	return due(ctx, tx, s.No, m.now)
}

// repace makes another rate hold from the last turn on: a slow one set by mistake
// must not hold the line up once it is corrected.
func repace(ctx context.Context, tx pgx.Tx, showNo int32, from, to waitlist.Milli) error {
	var at time.Time
	if err := tx.QueryRow(ctx, `SELECT pace_at FROM lines WHERE show_no = $1`, showNo).Scan(&at); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE lines SET pace_at = $2 WHERE show_no = $1`, showNo, waitlist.Repace(at, from, to))
	return err
}

// capWaves ends the show's live turns at the close of sales, or now, but later than
// any decision so far, which saw them live. Connected fans hear of it.
func (db *Store) capWaves(ctx context.Context, tx pgx.Tx, showNo int32, cap, now time.Time) error {
	if !cap.After(now) {
		cap = now.Add(time.Microsecond)
	}
	rows, err := tx.Query(ctx, `
		UPDATE waves w SET close_cap = $2, last_closes = least(last_closes, $2) FROM openings o
		WHERE w.show_no = $1 AND w.last_closes > $2 AND o.opening_no = w.opening_no
		RETURNING w.opening_no, w.n, o.opening_id`, showNo, cap)
	events, err := all(rows, err, func(row pgx.CollectableRow) (event, error) {
		e := event{Type: notifier.WaveCapped, At: now, ShowNo: showNo, Live: true}
		var id string
		err := row.Scan(&e.OpeningNo, &e.N, &id)
		stale(tx, openingKey(showNo, id))
		return e, err
	})
	if err != nil {
		return err
	}
	return db.record(ctx, tx, events...)
}

func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // types of this program, all of which can be marshalled
	}
	return b
}

// fillShow adds what is worked out on reading. In a transaction q is that: one that
// waited for a second connection would wait for ever when as many as the pool has do
// so at once.
func (s *Store) fillShow(ctx context.Context, q querier, show *waitlist.Show) error {
	one := []waitlist.Show{*show}
	err := s.fillShows(ctx, q, one)
	*show = one[0]
	return err
}

// fillShows is fillShow for a page, in one statement.
func (s *Store) fillShows(ctx context.Context, q querier, shows []waitlist.Show) error {
	nos := make([]int32, len(shows))
	for i := range shows {
		nos[i] = shows[i].No
	}
	rows, err := q.Query(ctx, `
		SELECT i, `+waitingIn("k.no")+`,
			(SELECT count(*) FROM openings WHERE show_no = k.no AND state = 'open')
		FROM unnest($1::int[]) WITH ORDINALITY k (no, i)`, nos)
	if err != nil {
		return err
	}
	var i, open int
	var waiting int64
	_, err = pgx.ForEachRow(rows, []any{&i, &waiting, &open}, func() error {
		show := &shows[i-1]
		show.Waiting, show.OpeningsOpen = waiting, open
		show.Strategy = waitlist.Choose(show.Policy.Strategy, waiting, s.threshold)
		return nil
	})
	return err
}

// Show returns a show.
func (s *Store) Show(ctx context.Context, id string) (waitlist.Show, error) {
	show, err := showByID(ctx, s.pool, id)
	if err != nil {
		return show, err
	}
	err = s.fillShow(ctx, s.pool, &show)
	return show, err
}

// Shows are those after the id, by id.
func (s *Store) Shows(ctx context.Context, after string, limit int) ([]waitlist.Show, error) {
	rows, err := s.pool.Query(ctx,
		`SELECT `+showColumns+` FROM shows WHERE show_id > $1 ORDER BY show_id LIMIT $2`, after, limit)
	shows, err := all(rows, err, scanShow)
	if err != nil {
		return nil, err
	}
	return shows, s.fillShows(ctx, s.pool, shows)
}

// PauseShow pauses or resumes for staff or for the ticketing app.
func (s *Store) PauseShow(ctx context.Context, id string, staff, paused bool) (no int32, err error) {
	column := "paused_app"
	if staff {
		column = "paused_staff"
	}
	err = s.inShow(ctx, "pause a show", id, &no, func(tx pgx.Tx, m moment) error {
		stale(tx, showKey(id))
		if _, err := tx.Exec(ctx, `UPDATE shows SET `+column+` = $2 WHERE show_no = $1`, no, paused); err != nil {
			return err
		}
		return due(ctx, tx, no, m.now)
	})
	return no, err
}

// inShow runs f under the exclusive lock of a show.
func (s *Store) inShow(ctx context.Context, what, id string, no *int32, f func(tx pgx.Tx, m moment) error) error {
	return s.inTxOnce(ctx, what, func(tx pgx.Tx) (any, int64, error) {
		n, err := showNo(ctx, tx, id)
		if err != nil {
			return nil, 0, err
		}
		*no = n
		if err := lockExclusive(ctx, tx, n); err != nil {
			return nil, 0, err
		}
		m, err := look(ctx, tx, n)
		if err != nil {
			return nil, 0, err
		}
		return nil, 0, f(tx, m)
	})
}

// CancelShow cancels a show and each of its openings.
func (s *Store) CancelShow(ctx context.Context, id string) (no int32, err error) {
	err = s.inShow(ctx, "cancel a show", id, &no, func(tx pgx.Tx, m moment) error {
		stale(tx, showKey(id), newsKey(no))
		tag, err := tx.Exec(ctx, `UPDATE shows SET cancelled = true WHERE show_no = $1 AND NOT cancelled`, no)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT opening_no FROM openings WHERE show_no = $1 AND state = 'open' ORDER BY 1`, no)
		open, err := all(rows, err, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		return s.cancel(ctx, tx, no, open, m)
	})
	return no, err
}
