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

// chunksMost is how many chunks of a blast are under way: enough to keep a channel
// busy and to go on when a process dies with some, and few enough that a channel which
// is slow or down is not filled up before the blasts that come later.
const chunksMost = 8

// NextChunk queues the chunk that follows a, once: whoever finds the cursor where
// a ends moves it. A job that runs twice does not fork the chain, and one that died
// leaves it whole.
func (s *Store) NextChunk(ctx context.Context, a notifier.BlastArgs) error {
	return s.inTx(ctx, "queue the next chunk", func(tx pgx.Tx) error {
		b, err := lockBlast(ctx, tx, a)
		if err != nil || b.cursor != a.To {
			return err // it was queued
		}
		return s.advance(ctx, tx, b)
	})
}

// ChunkThrough notes that a chunk needs its channel no more, for now, and queues
// another one in its place. Again: nothing.
func (s *Store) ChunkThrough(ctx context.Context, a notifier.BlastArgs) error {
	return s.inTx(ctx, "end a chunk", func(tx pgx.Tx) error {
		b, err := lockBlast(ctx, tx, a)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(b.underWay), func(to int64) bool { return to == a.To })
		if len(left) == len(b.underWay) {
			return nil
		}
		b.underWay = left
		if _, err := tx.Exec(ctx, `UPDATE blasts SET under_way = $3 WHERE announcement_no = $1 AND channel = $2`,
			b.announcement, b.channel, left); err != nil {
			return err
		}
		return s.advance(ctx, tx, b)
	})
}

// blast is a row of blasts, locked.
type blast struct {
	announcement int64
	channel      notifier.Channel
	show         int32
	cursor       int64
	underWay     []int64
}

func lockBlast(ctx context.Context, tx pgx.Tx, a notifier.BlastArgs) (*blast, error) {
	b := &blast{announcement: a.Announcement, channel: a.Channel, cursor: -1}
	err := tx.QueryRow(ctx, `
		SELECT n.show_no, b.cursor, b.under_way FROM blasts b JOIN announcements n USING (announcement_no)
		WHERE b.announcement_no = $1 AND b.channel = $2 FOR UPDATE OF b`, a.Announcement, a.Channel).Scan(&b.show, &b.cursor, &b.underWay)
	if err == pgx.ErrNoRows {
		return b, nil // it is over
	}
	return b, err
}

// advance queues the chunk at the cursor, unless enough are under way or the line ends.
func (s *Store) advance(ctx context.Context, tx pgx.Tx, b *blast) error {
	if len(b.underWay) >= chunksMost || b.cursor < 0 {
		return nil
	}
	to, err := blastEnd(ctx, tx, b)
	if err != nil || to == b.cursor {
		return err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE blasts SET cursor = $3, under_way = under_way || $3::bigint WHERE announcement_no = $1 AND channel = $2`,
		b.announcement, b.channel, to); err != nil {
		return err
	}
	next := notifier.BlastArgs{Announcement: b.announcement, Channel: b.channel, From: b.cursor, To: to}
	return s.queue(ctx, tx, []river.InsertManyParams{notifier.BlastJob(next, 0)})
}

// addressedSQL are the addresses of a channel, $channel, that a fan has: of a mailbox
// or a number one row.
func addressedSQL(c notifier.Channel, fan, channel string) string {
	switch c {
	case notifier.SMS, notifier.Email:
		column := map[notifier.Channel]string{notifier.SMS: "phone", notifier.Email: "email"}[c]
		return `SELECT FROM fans x WHERE x.fan_no = ` + fan + ` AND x.` + column + ` IS NOT NULL AND ` + channel + `::text <> ''`
	}
	return `SELECT FROM devices x WHERE x.fan_no = ` + fan + ` AND x.platform = ` + channel + ` AND x.used`
}

// blastEnd is the last entry number of the chunk at the cursor, or the cursor when
// there is none. It goes through entries in their order and stops when the chunk
// is full: a plan that first gathers the rest of the line would do so for each chunk.
func blastEnd(ctx context.Context, tx pgx.Tx, b *blast) (to int64, err error) {
	if _, err := tx.Exec(ctx, `SET LOCAL enable_bitmapscan = off`); err != nil {
		return 0, err
	}
	const walk = `(SELECT eno, fan_no FROM entries WHERE show_no = $1 AND eno > $2 ORDER BY eno LIMIT $4) w`
	err = tx.QueryRow(ctx, `
		WITH found AS MATERIALIZED (
			SELECT w.eno FROM `+walk+` CROSS JOIN LATERAL (`+addressedSQL(b.channel, "w.fan_no", "$3")+` LIMIT 1) has ORDER BY w.eno LIMIT $5)
		SELECT CASE WHEN (SELECT count(*) FROM found) = $5 THEN (SELECT max(eno) FROM found)
			ELSE coalesce((SELECT max(eno) FROM `+walk+`), $2) END`,
		b.show, b.cursor, b.channel, blastWalk, blastMost).Scan(&to)
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
