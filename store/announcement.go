package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/waitlist"
)

// writtenMost is the longest line whose announcements are written, also where the
// policy says so: they are written under the show's lock, at 85,000 rows a second
// or more.
const writtenMost = 100_000

// Announce takes an announcement for those who are in line under the show's lock.
func (s *Store) Announce(ctx context.Context, show string, n waitlist.NewAnnouncement) (a waitlist.Announcement, created bool, err error) {
	err = s.inTxOnce(ctx, "announce", func(tx pgx.Tx) (any, int64, error) {
		a, created, err = s.announce(ctx, tx, show, n)
		if !created {
			return unkept{}, 0, err
		}
		return a, 0, err
	})
	return a, created && err == nil, err
}

func (s *Store) announce(ctx context.Context, tx pgx.Tx, show string, n waitlist.NewAnnouncement) (a waitlist.Announcement, created bool, err error) {
	no, err := showNo(ctx, tx, show)
	if err != nil {
		return a, false, err
	}
	if err := lockExclusive(ctx, tx, no); err != nil {
		return a, false, err
	}
	print, err := n.Fingerprint()
	if err != nil {
		return a, false, err
	}
	if a, err = announcementByID(ctx, tx, no, n.ID, print); err == nil || waitlist.CodeOf(err) != waitlist.NotFound {
		return a, false, err
	}
	sh, err := showByID(ctx, tx, show)
	if err != nil {
		return a, false, err
	}
	if err := sh.Shut(); err != nil {
		return a, false, err
	}
	if a, err = s.insertAnnouncement(ctx, tx, &sh, n, print); err != nil {
		return a, false, err
	}
	if a.Strategy == waitlist.Write {
		if err := writeAnnouncement(ctx, tx, &a); err != nil {
			return a, false, err
		}
	}
	return a, true, s.record(ctx, tx, event{
		Type: notifier.AnnouncementSent, At: a.At, ShowNo: no, Ref: a.No,
		Live: n.Channels == nil || slices.Contains(n.Channels, string(notifier.Live)),
	})
}

// announcementByID reads the announcement that stands, which another body cannot
// have.
func announcementByID(ctx context.Context, tx pgx.Tx, show int32, id string, print []byte) (a waitlist.Announcement, err error) {
	var was []byte
	a = waitlist.Announcement{ShowNo: show, ID: id}
	err = tx.QueryRow(ctx, `
		SELECT announcement_no, strategy, decision, at, fingerprint FROM announcements
		WHERE show_no = $1 AND announcement_id = $2`, show, id).Scan(&a.No, &a.Strategy, &a.Decision, &a.At, &was)
	if err == nil && !bytes.Equal(was, print) {
		return a, waitlist.Refuse(waitlist.Conflict, "announcement %q was made before with another body; an announcement cannot change", id)
	}
	return a, notFound(err, "announcement", id)
}

// insertAnnouncement gives the announcement a decision's number of its own, so that
// the entries' log says who was in line.
func (s *Store) insertAnnouncement(ctx context.Context, tx pgx.Tx, sh *waitlist.Show, n waitlist.NewAnnouncement, print []byte) (a waitlist.Announcement, err error) {
	a = waitlist.Announcement{ShowNo: sh.No, ID: n.ID}
	if a.Strategy, err = s.announcementStrategy(ctx, tx, sh); err != nil {
		return a, err
	}
	if err := tx.QueryRow(ctx, `
		UPDATE lines SET decision = decision + 1, last_decided_at = greatest(clock_timestamp(), last_decided_at)
		WHERE show_no = $1 RETURNING decision, last_decided_at`, sh.No).Scan(&a.Decision, &a.At); err != nil {
		return a, err
	}
	if a.ID == "" {
		a.ID = sortableID("ann_", a.At)
	}
	a.At = a.At.UTC().Truncate(time.Millisecond)
	stale(tx, newsKey(sh.No)) // for all whom it concerns, under both strategies
	err = tx.QueryRow(ctx, `
		INSERT INTO announcements (show_no, announcement_id, fingerprint, strategy, decision, at, title, body, data, channels)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING announcement_no`,
		sh.No, a.ID, print, a.Strategy, a.Decision, a.At, n.Title, n.Body, n.Data, n.Channels).Scan(&a.No)
	return a, err
}

func (s *Store) announcementStrategy(ctx context.Context, tx pgx.Tx, sh *waitlist.Show) (waitlist.Strategy, error) {
	if err := s.fillShow(ctx, tx, sh); err != nil {
		return "", err
	}
	if sh.Waiting > writtenMost {
		return waitlist.Read, nil
	}
	return sh.Strategy, nil
}

// writeSQL puts announcement $2 of the moment $3 into the inbox of everyone in the
// line of show $1. Each of the three lists has its index, so that those who left
// cost nothing.
const writeSQL = `
	INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats)
	SELECT fan_no, 'announcement', $2, $3, $1, eno, 0 FROM (
		SELECT fan_no, eno FROM entries WHERE show_no = $1 AND state = 'waiting' AND NOT dormant
		UNION ALL
		SELECT fan_no, eno FROM entries WHERE show_no = $1 AND state = 'waiting' AND dormant
		UNION ALL
		SELECT fan_no, eno FROM entries WHERE show_no = $1 AND state = 'holding') e`

func writeAnnouncement(ctx context.Context, tx pgx.Tx, a *waitlist.Announcement) error {
	_, err := tx.Exec(ctx, writeSQL, a.ShowNo, a.No, a.At)
	return err
}

// sortableID makes an id that sorts behind those made before, to the microsecond.
func sortableID(prefix string, at time.Time) string {
	const base = 32 // digits before letters, as they sort; 11 of them until the year 3111
	return prefix + strconv.FormatInt(at.UnixMicro(), base) + rand.Text()[:10]
}

// matchMost is how many fans are looked up in a line at a time.
const matchMost = 1000

// announced returns new announcements for those fans who are here, were in line and
// hear of them over sockets, whichever strategy: what it costs grows with the fans who
// are here.
func (f *Feed) announced(ctx context.Context, nos []int64, here live.Here) ([]live.Shared, error) {
	if len(nos) == 0 {
		return nil, nil
	}
	rows, err := f.s.pool.Query(ctx, `
		SELECT a.show_no, a.decision, a.at, a.announcement_id, a.title, a.body, a.data, a.channels IS NULL, s.show_id
		FROM announcements a JOIN shows s USING (show_no)
		WHERE a.announcement_no = ANY($1) ORDER BY a.at, a.announcement_no`, nos)
	type announced struct {
		of waitlist.Announcement
		item
		preferred bool // it goes as the fans prefer
	}
	list, err := all(rows, err, func(row pgx.CollectableRow) (x announced, err error) {
		a, own := &x.of, &x.own
		err = row.Scan(&a.ShowNo, &a.Decision, &x.at, &a.ID, &own.title, &own.body, &own.data, &x.preferred, &x.show.ID)
		x.id, x.kind, x.lane = notifier.AnnouncementID(x.show.ID, a.ID), notifier.KindAnnouncement, notifier.Bulk
		return x, err
	})
	if err != nil {
		return nil, err
	}
	fans := here.All()
	shared := make([]live.Shared, len(list))
	for i := range list {
		it := list[i].item.item()
		shared[i] = live.Shared{At: list[i].at, Item: &it}
		if shared[i].Fans, err = f.inLine(ctx, &list[i].of, list[i].preferred, fans); err != nil {
			return nil, err
		}
	}
	return shared, nil
}

// inLine returns those of the fans to whom the announcement belongs; where it goes as
// they prefer, of these who do not leave out sockets.
func (f *Feed) inLine(ctx context.Context, a *waitlist.Announcement, preferred bool, fans []int64) (members []int64, err error) {
	for chunk := range slices.Chunk(fans, matchMost) {
		rows, err := f.s.pool.Query(ctx, `
			SELECT e.fan_no FROM unnest($3::bigint[]) k (fan_no)
			CROSS JOIN LATERAL (SELECT * FROM entries WHERE show_no = $1 AND fan_no = k.fan_no LIMIT 1) e
			WHERE `+inLineAt("$2::bigint")+` AND (NOT $4 OR NOT EXISTS (
				SELECT FROM fans f WHERE f.fan_no = e.fan_no AND `+leavesOutLive(notifier.KindAnnouncement)+`))`,
			a.ShowNo, a.Decision, chunk, preferred)
		some, err := all(rows, err, pgx.RowTo[int64])
		if err != nil {
			return nil, err
		}
		members = append(members, some...)
	}
	return members, nil
}
