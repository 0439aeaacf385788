package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// FindShows are those whose id or name holds text, whatever its case, after the
// id, by id.
func (s *Store) FindShows(ctx context.Context, text, after string, limit int) ([]waitlist.Show, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+showColumns+` FROM shows
		WHERE show_id > $2 AND (strpos(lower(show_id), lower($1)) > 0 OR strpos(lower(name), lower($1)) > 0)
		ORDER BY show_id LIMIT $3`, text, after, limit)
	shows, err := all(rows, err, scanShow)
	if err != nil {
		return nil, err
	}
	return shows, s.fillShows(ctx, s.pool, shows)
}

// Seats are the labelled seats of an opening, in their order, the first limit.
func (s *Store) Seats(ctx context.Context, openingNo int64, limit int) ([]waitlist.Seat, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT label, state FROM seats WHERE opening_no = $1 ORDER BY no LIMIT $2`, openingNo, limit)
	return all(rows, err, pgx.RowToStructByPos[waitlist.Seat])
}

// OpenOpenings are a show's newest openings that are open, newest first.
func (s *Store) OpenOpenings(ctx context.Context, showNo int32, limit int) ([]waitlist.Opening, error) {
	return openOpenings(ctx, s.pool, showNo, limit)
}

func openOpenings(ctx context.Context, q querier, showNo int32, limit int) ([]waitlist.Opening, error) {
	rows, err := q.Query(ctx, `
		SELECT `+openingColumns+` FROM openings o WHERE o.show_no = $1 AND o.state = 'open'
		ORDER BY o.opening_no DESC LIMIT $2`, showNo, limit)
	return all(rows, err, scanOpening)
}

// InLine is how many are in a show's line now, dormant ones and those who hold seats
// too: those to whom an announcement goes.
func (s *Store) InLine(ctx context.Context, showNo int32) (n int64, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT `+waitingIn("$1::int")+` + (SELECT count(*) FROM entries WHERE show_no = $1 AND state = 'holding')`, showNo).Scan(&n)
	return n, err
}
