package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// FanPlaces are a fan's entries at all shows, those in line first, then the newest.
func (s *Store) FanPlaces(ctx context.Context, fan string, limit int) ([]waitlist.FanPlace, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+entryColumns+`, f.fan_id, s.show_id, s.name, s.venue, s.time_zone, s.starts_at, s.cancelled
		FROM fans f JOIN entries e USING (fan_no) JOIN shows s USING (show_no)
		WHERE f.fan_id = $1
		ORDER BY e.state IN ('waiting', 'holding') AND NOT s.cancelled DESC, s.starts_at DESC, s.show_id LIMIT $2`, fan, limit)
	list, err := all(rows, err, func(row pgx.CollectableRow) (p waitlist.FanPlace, err error) {
		err = row.Scan(append(entryFields(&p.Entry), &p.FanID, &p.ShowID, &p.ShowName, &p.Venue, &p.TimeZone, &p.StartsAt, &p.Cancelled)...)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	entries := make([]waitlist.FanEntry, len(list))
	for i := range list {
		entries[i] = list[i].FanEntry
	}
	err = s.positionsOf(ctx, entries)
	for i := range list {
		list[i].FanEntry = entries[i]
	}
	return list, err
}
