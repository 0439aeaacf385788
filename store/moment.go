package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"fanline/delivery/live"
)

// unseenFor is how long a transaction of ours may have been open that we may not
// look at.
const unseenFor = time.Minute

// momentSQL is one row of a live.Moment. All of it is open to an ordinary role:
// but sessions of other roles hide their transactions, and so do all where
// track_activities is off. Whoever writes items reads their time after the
// transaction's start.
const momentSQL = `
	SELECT (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database()),
		left(pg_walfile_name(pg_current_wal_lsn()), 8), least(clock_timestamp(), a.oldest),
		CASE WHEN a.unseen THEN clock_timestamp() END
	FROM (SELECT min(xact_start) FILTER (WHERE state <> 'idle') AS oldest,
			bool_or(state = 'disabled' OR state IS NULL AND usename <> current_user) AS unseen
		FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'fanline') a`

// momentRow is a row of momentSQL.
type momentRow struct {
	system   int64
	database uint32
	timeline string
	at       time.Time
	unseen   *time.Time
}

func (r *momentRow) fields() []any {
	return []any{&r.system, &r.database, &r.timeline, &r.at, &r.unseen}
}

func (r *momentRow) moment() live.Moment {
	m := live.Moment{At: r.at.UTC()}
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, r.system) // never fails
	_ = binary.Write(h, binary.BigEndian, r.database)
	m.Database = h.Sum64()
	// The part of a log file's name that is the timeline: the control file learns of
	// a new one only at the next checkpoint.
	timeline, _ := strconv.ParseUint(r.timeline, 16, 32)
	m.Timeline = uint32(timeline)
	if r.unseen != nil && m.At.After(r.unseen.Add(-unseenFor)) {
		m.At = r.unseen.Add(-unseenFor).UTC()
	}
	return m
}

// moment reads where the database stands.
func (s *Store) moment(ctx context.Context) (live.Moment, error) {
	var r momentRow
	err := s.pool.QueryRow(ctx, momentSQL).Scan(r.fields()...)
	return r.moment(), err
}

// DatabaseName names the database, whose numbers mean nothing in another. A replica
// that took its place has the same name.
func (s *Store) DatabaseName(ctx context.Context) (string, error) {
	m, err := s.moment(ctx)
	return fmt.Sprintf("%x", m.Database), err
}

// Database names the database and its timeline: what was remembered elsewhere of
// its numbers is of no use after it was restored.
func (s *Store) Database(ctx context.Context) (string, error) {
	m, err := s.moment(ctx)
	return fmt.Sprintf("%x-%d", m.Database, m.Timeline), err
}
