package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"fanline/delivery"
	"fanline/notifier"
)

const (
	// blastMost is how many addresses a chunk of a blast has, and blastWalk how many
	// entries it goes past for them.
	blastMost = 500
	blastWalk = 20_000
)

// StartBlasts queues the first chunk of an announcement for each of the channels
// that it may go by. Again: nothing.
func (s *Store) StartBlasts(ctx context.Context, announcement int64, channels []notifier.Channel) error {
	return s.inTx(ctx, "start blasts", func(tx pgx.Tx) error {
		asked, at, err := blastChannels(ctx, tx, announcement)
		if err != nil {
			return err
		}
		now, err := nowIn(ctx, tx)
		if err != nil {
			return err
		}
		var jobs []river.InsertManyParams
		for _, c := range channels {
			if c == notifier.Live || asked != nil && !slices.Contains(asked, c) {
				continue
			}
			tag, err := tx.Exec(ctx, `
				INSERT INTO blasts (announcement_no, channel, cursor) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING`, announcement, c)
			if err != nil {
				return err
			}
			if tag.RowsAffected() > 0 {
				// Those who are connected have a moment to look.
				wait := max(0, at.Add(notifier.PushAfter).Sub(now))
				jobs = append(jobs, notifier.BlastJob(notifier.BlastArgs{Announcement: announcement, Channel: c}, wait))
			}
		}
		return s.queue(ctx, tx, jobs)
	})
}

// blastChannels are those that who announced asked for, nil: as the fans prefer,
// and the announcement's moment.
func blastChannels(ctx context.Context, tx pgx.Tx, announcement int64) (asked []notifier.Channel, at time.Time, err error) {
	err = tx.QueryRow(ctx, `SELECT channels, at FROM announcements WHERE announcement_no = $1`, announcement).Scan(&asked, &at)
	return asked, at, err
}

// NextChunk queues the chunk that follows a, once: whoever finds the cursor where
// a ends moves it. A job that runs twice does not fork the chain, and one that died
// leaves it whole.
func (s *Store) NextChunk(ctx context.Context, a notifier.BlastArgs) error {
	return s.inTx(ctx, "queue the next chunk", func(tx pgx.Tx) error {
		var show int32
		err := tx.QueryRow(ctx, `
			SELECT n.show_no FROM blasts b JOIN announcements n USING (announcement_no)
			WHERE b.announcement_no = $1 AND b.channel = $2 AND b.cursor = $3 FOR UPDATE OF b`, a.Announcement, a.Channel, a.To).Scan(&show)
		if err == pgx.ErrNoRows {
			return nil // it was queued
		}
		if err != nil {
			return err
		}
		to, err := blastEnd(ctx, tx, show, a)
		if err != nil {
			return err
		}
		if to == a.To {
			return nil // the end of the line
		}
		if _, err := tx.Exec(ctx, `UPDATE blasts SET cursor = $3 WHERE announcement_no = $1 AND channel = $2`,
			a.Announcement, a.Channel, to); err != nil {
			return err
		}
		next := notifier.BlastArgs{Announcement: a.Announcement, Channel: a.Channel, From: a.To, To: to}
		return s.queue(ctx, tx, []river.InsertManyParams{notifier.BlastJob(next, 0)})
	})
}

// addressedSQL are the fans of entries w who have an address of a channel $3: one
// row each.
var addressedSQL = map[notifier.Channel]string{
	notifier.SMS:   `SELECT FROM fans f WHERE f.fan_no = w.fan_no AND f.phone IS NOT NULL AND $3 <> ''`,
	notifier.Email: `SELECT FROM fans f WHERE f.fan_no = w.fan_no AND f.email IS NOT NULL AND $3 <> ''`,
}

const hasDeviceSQL = `SELECT FROM devices v WHERE v.fan_no = w.fan_no AND v.platform = $3 AND v.used`

// blastEnd is the last entry number of the chunk that follows a, or a's own end
// when there is none. It goes through entries in their order and stops when the chunk
// is full: a plan that first gathers the rest of the line would do so for each chunk.
func blastEnd(ctx context.Context, tx pgx.Tx, show int32, a notifier.BlastArgs) (to int64, err error) {
	if _, err := tx.Exec(ctx, `SET LOCAL enable_bitmapscan = off`); err != nil {
		return 0, err
	}
	has, ok := addressedSQL[a.Channel]
	if !ok {
		has = hasDeviceSQL
	}
	const walk = `(SELECT eno, fan_no FROM entries WHERE show_no = $1 AND eno > $2 ORDER BY eno LIMIT $4) w`
	err = tx.QueryRow(ctx, `
		WITH found AS MATERIALIZED (
			SELECT w.eno FROM `+walk+` CROSS JOIN LATERAL (`+has+` LIMIT 1) has ORDER BY w.eno LIMIT $5)
		SELECT CASE WHEN (SELECT count(*) FROM found) = $5 THEN (SELECT max(eno) FROM found)
			ELSE coalesce((SELECT max(eno) FROM `+walk+`), $2) END`,
		show, a.To, a.Channel, blastWalk, blastMost).Scan(&to)
	return to, err
}

// Blaster is the subscriber that brings announcements to those who are not looking.
func (s *Store) Blaster(channels []notifier.Channel) notifier.Handler {
	return func(ctx context.Context, e notifier.EventArgs) error {
		if e.Type != notifier.AnnouncementSent || len(channels) == 0 {
			return nil
		}
		return s.StartBlasts(ctx, e.Ref, channels)
	}
}

var _ delivery.AlertStore = (*Store)(nil)
