package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"fanline/delivery"
	"fanline/notifier"
)

var _ delivery.DigestStore = (*Store)(nil)

const (
	// digestMost is how many fans a chunk has.
	digestMost = notifier.SendMost
	// digestLife is how long a digest is tried to be sent.
	digestLife = 12 * time.Hour
	// digestReach is how far back a fan's first digest goes, and one after a long gap.
	digestReach = 7 * 24 * time.Hour
	// digestOverlap is how long an item may take from its moment to its commit to be in
	// the next digest at the latest. One of these seconds may be told of in two.
	digestOverlap = 10 * time.Second
	// digestItems is how many items a digest tells of.
	digestItems = 100
)

// DigestGroups jumps from one to the next in their index.
func (s *Store) DigestGroups(ctx context.Context) ([]delivery.DigestGroup, error) {
	rows, err := s.pool.Query(ctx, `
		WITH RECURSIVE g AS (
			(SELECT time_zone, digest_hour FROM fans WHERE digest_hour IS NOT NULL ORDER BY time_zone, digest_hour LIMIT 1)
			UNION ALL
			SELECT n.* FROM g CROSS JOIN LATERAL (
				SELECT f.time_zone, f.digest_hour FROM fans f
				WHERE f.digest_hour IS NOT NULL AND (f.time_zone, f.digest_hour) > (g.time_zone, g.digest_hour)
				ORDER BY f.time_zone, f.digest_hour LIMIT 1) n)
		SELECT time_zone, digest_hour::int FROM g`)
	return all(rows, err, pgx.RowToStructByPos[delivery.DigestGroup])
}

// StartDigests queues the first chunk, an empty one, of each run that was not started.
func (s *Store) StartDigests(ctx context.Context, runs []delivery.DigestRun) (started int, err error) {
	days, zones, hours := make([]string, len(runs)), make([]string, len(runs)), make([]int16, len(runs))
	for i, r := range runs {
		days[i], zones[i], hours[i] = r.Day, r.Zone, int16(r.Hour)
	}
	err = s.inTx(ctx, "start digests", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			INSERT INTO digest_runs (day, time_zone, hour)
			SELECT day::date, zone, hour FROM unnest($1::text[], $2::text[], $3::smallint[]) r (day, zone, hour) ORDER BY 1, 2, 3
			ON CONFLICT DO NOTHING RETURNING day::text, time_zone, hour::int`, days, zones, hours)
		jobs, err := all(rows, err, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
			var a notifier.DigestArgs
			err := row.Scan(&a.Day, &a.Zone, &a.Hour)
			return notifier.DigestJob(a), err
		})
		if err != nil {
			return err
		}
		started = len(jobs)
		return s.queue(ctx, tx, jobs)
	})
	return started, err
}

// MakeDigests queues the chunk that follows and makes those of a chunk.
func (s *Store) MakeDigests(ctx context.Context, a notifier.DigestArgs) ([]int64, error) {
	if err := s.nextDigests(ctx, a); err != nil || a.From == a.To {
		return nil, err
	}
	fans, since, err := s.digestFans(ctx, a)
	if err != nil {
		return nil, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.insertDigests(ctx, a.Day, fans, since, now); err != nil {
		return nil, fmt.Errorf("write digests down: %w", err)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT d.digest_no FROM fans f JOIN digests d ON d.fan_no = f.fan_no AND d.day = $3::date
		WHERE f.fan_no > $4 AND f.fan_no <= $5 AND f.time_zone = $1 AND f.digest_hour = $2
		ORDER BY d.digest_no`, a.Zone, a.Hour, a.Day, a.From, a.To)
	return all(rows, err, pgx.RowTo[int64])
}

// nextDigests queues the chunk that follows a, once: whoever finds the cursor where a
// ends moves it.
func (s *Store) nextDigests(ctx context.Context, a notifier.DigestArgs) error {
	return s.inTx(ctx, "queue the next digests", func(tx pgx.Tx) error {
		var cursor int64
		err := tx.QueryRow(ctx, `
			SELECT cursor FROM digest_runs WHERE day = $1::date AND time_zone = $2 AND hour = $3 AND cursor = $4 FOR UPDATE`,
			a.Day, a.Zone, a.Hour, a.To).Scan(&cursor)
		if err == pgx.ErrNoRows {
			return nil // it was queued
		}
		if err != nil {
			return err
		}
		next := a
		next.From = a.To
		if err := tx.QueryRow(ctx, `
			SELECT coalesce(max(fan_no), $3) FROM (
				SELECT fan_no FROM fans WHERE time_zone = $1 AND digest_hour = $2 AND fan_no > $3 ORDER BY fan_no LIMIT $4) x`,
			a.Zone, a.Hour, a.To, digestMost).Scan(&next.To); err != nil || next.To == a.To {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE digest_runs SET cursor = $4 WHERE day = $1::date AND time_zone = $2 AND hour = $3`,
			a.Day, a.Zone, a.Hour, next.To); err != nil {
			return err
		}
		return s.queue(ctx, tx, []river.InsertManyParams{notifier.DigestJob(next)})
	})
}

// digestFans are those of a chunk who can get a digest and have none that day, with
// the moment that the one before told them up to.
func (s *Store) digestFans(ctx context.Context, a notifier.DigestArgs) (fans []int64, since []time.Time, err error) {
	rows, err := s.pool.Query(ctx, `
		SELECT f.fan_no, greatest(clock_timestamp() - $6::interval, l.at - $7::interval)
		FROM fans f LEFT JOIN LATERAL (
			SELECT d.at, d.day FROM digests d WHERE d.fan_no = f.fan_no ORDER BY d.day DESC LIMIT 1) l ON true
		WHERE f.time_zone = $1 AND f.digest_hour = $2 AND f.fan_no > $4 AND f.fan_no <= $5 AND f.email IS NOT NULL
			AND (l.day IS NULL OR l.day < $3::date)
			AND NOT EXISTS (SELECT FROM opt_outs o WHERE o.channel = 'email' AND o.address = f.email_hash AND o.kind IN ('', 'digest')
				AND (o.sender IN ('', $8) OR $8 = ''))
		ORDER BY f.fan_no`, a.Zone, a.Hour, a.Day, a.From, a.To, digestReach, digestOverlap, s.senders[notifier.Email])
	if err != nil {
		return nil, nil, err
	}
	var fan int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&fan, &at}, func() error {
		fans, since = append(fans, fan), append(since, at)
		return nil
	})
	return fans, since, err
}

// insertDigests writes down those of the fans who have something that is unread and
// that no digest told them of. A fan has one a day, whoever else writes.
func (s *Store) insertDigests(ctx context.Context, day string, fans []int64, since []time.Time, now time.Time) error {
	if len(fans) == 0 {
		return nil
	}
	_, err := s.pool.Exec(ctx, `
		INSERT INTO digests (fan_no, day, at, since)
		SELECT w.fan_no, $5::date, $2, w.since FROM unnest($3::bigint[], $4::timestamptz[]) w (fan_no, since)
		WHERE w.fan_no IN (
			SELECT x.fan_no FROM (`+itemsSQL+`) x JOIN unnest($3::bigint[], $4::timestamptz[]) w (fan_no, since) USING (fan_no)
			WHERE x.read_at IS NULL AND x.at > w.since AND x.at <= $2)
		ORDER BY w.fan_no
		ON CONFLICT (fan_no, day) DO NOTHING`, fans, now, fans, since, day)
	return err
}

// digestRow is a digest on its way.
type digestRow struct {
	No        int64
	Fan       int64
	Day       string
	At, Since time.Time
	Now       time.Time
}

// digestParcels reads digests with what is unread of them by now.
func (s *Store) digestParcels(ctx context.Context, nos []int64) ([]delivery.Parcel, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT d.digest_no, d.fan_no, d.day::text, d.at, d.since, clock_timestamp()
		FROM digests d JOIN fans f USING (fan_no) WHERE d.digest_no = ANY($1) ORDER BY d.digest_no`, nos)
	list, err := all(rows, err, pgx.RowToStructByPos[digestRow])
	if err != nil || len(list) == 0 {
		return nil, err
	}
	told, err := s.digestItems(ctx, list)
	if err != nil {
		return nil, err
	}
	parcels := make([]delivery.Parcel, len(list))
	for i := range list {
		parcels[i] = list[i].parcel(told[list[i].Fan])
	}
	return parcels, nil
}

// digestItems are the items that digests tell of, by fan, newest first.
func (s *Store) digestItems(ctx context.Context, list []digestRow) (map[int64][]item, error) {
	n := len(list)
	fans, since, upTo := make([]int64, n), make([]time.Time, n), make([]time.Time, n)
	for i, d := range list {
		fans[i], since[i], upTo[i] = d.Fan, d.Since, d.At
	}
	items, err := planOnce(ctx, s, scanItem, `
		SELECT x.* FROM (`+itemsSQL+`) x JOIN unnest($3::bigint[], $4::timestamptz[], $5::timestamptz[]) w (fan_no, since, up_to) USING (fan_no)
		WHERE x.read_at IS NULL AND x.at > w.since AND x.at <= w.up_to ORDER BY x.fan_no, x.at DESC, x.id`,
		fans, list[0].Now, fans, since, upTo)
	told := make(map[int64][]item, n)
	for _, i := range items {
		told[i.fan] = append(told[i.fan], i)
	}
	return told, err
}

func (d *digestRow) parcel(items []item) delivery.Parcel {
	x := delivery.Parcel{
		FanNo: d.Fan, Item: notifier.ItemRef{Kind: notifier.KindDigest, Ref: d.No}, ItemID: notifier.DigestID(d.Day), Lane: notifier.Bulk,
		Moment: d.At, Latest: d.At.Add(digestLife), Expires: d.At.Add(digestLife), Channels: []notifier.Channel{notifier.Email},
		Seen: len(items) == 0, // all of it was read meanwhile
	}
	if !d.Now.Before(x.Expires) {
		x.Over = "expired"
	}
	for i := range items[:min(len(items), digestItems)] {
		x.Contents = append(x.Contents, items[i].content())
	}
	x.Render = func(string) notifier.Item {
		it := notifier.Item{
			ID: x.ItemID, Kind: notifier.KindDigest, Lane: notifier.Bulk, CreatedAt: notifier.Stamp(d.At),
			Title: "1 new item in your inbox", Body: "You have not read this yet:",
		}
		if n := len(items); n > 1 {
			it.Title, it.Body = fmt.Sprintf("%d new items in your inbox", n), "You have not read these yet:"
			if n > digestItems {
				it.Body = fmt.Sprintf("You have not read these yet; here are the newest %d:", digestItems)
			}
		}
		return it
	}
	return x
}

// content is the item as a digest tells of it. A turn that is over is not offered.
func (i *item) content() delivery.Content {
	it := i.item()
	c := delivery.Content{Title: it.Title, Body: it.Body, URL: i.url()}
	if i.kind == notifier.KindTurn && i.state != notifier.StateOpen {
		c.Title, c.Body, c.URL = it.Title+" (over)", "This turn is over.", ""
		if i.state == notifier.StateClaimed {
			c.Title, c.Body = it.Title+" (claimed)", "You claimed your seats."
		}
	}
	return c
}

// The removals of digests and runs that nothing asks for any more, each up to $1
// rows.
var dropDigestsSQL = []string{
	`DELETE FROM digests WHERE digest_no = ANY(ARRAY(
		SELECT digest_no FROM digests WHERE at <= clock_timestamp() - ` + itemsKept + ` ORDER BY at LIMIT $1))`,
	`DELETE FROM digest_runs WHERE (day, time_zone, hour) IN (
		SELECT day, time_zone, hour FROM digest_runs WHERE day < (clock_timestamp() AT TIME ZONE 'UTC')::date - 7 ORDER BY day LIMIT $1)`,
}

var oldDigests = removal{what: "remove old digests", most: 5000, sql: dropDigestsSQL}
