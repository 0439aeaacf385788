package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
)

var _ delivery.FeedbackStore = (*Store)(nil)

const (
	// nonceKept is longer than a call with it is believed.
	nonceKept = time.Hour
	// earlyAgain is how long a report rests that came before the record of its send.
	earlyAgain = 2 * time.Second
	// reportSlots is how many reports of one kind count at the same time.
	reportSlots = 16
)

// Tell records what a call says, with all that follows from it.
func (s *Store) Tell(ctx context.Context, t *delivery.Told) (h delivery.Heard, err error) {
	err = s.inTx(ctx, "record what a provider told", func(tx pgx.Tx) error {
		h = delivery.Heard{}
		if t.Nonce != "" {
			fresh, err := seeCall(ctx, tx, t.Service+"\x00nonce\x00"+t.Nonce, t.Body, nonceKept)
			if err != nil || !fresh {
				return err
			}
		}
		switch {
		case t.Report != nil:
			if h, err = s.report(ctx, tx, t.Report); err == nil && !h.Found {
				err = keepEarly(ctx, tx, t.Report)
			}
			return err
		case t.Wish != nil:
			return s.wish(ctx, tx, t.Service, t.Wish)
		}
		return nil
	})
	return h, err
}

// seeCall says whether a call is new. One that was there with another body is not
// genuine. keep 0 is for good.
func seeCall(ctx context.Context, tx pgx.Tx, id string, body []byte, keep time.Duration) (fresh bool, err error) {
	hash := sha256.Sum256([]byte(id))
	tag, err := tx.Exec(ctx, `
		INSERT INTO calls_seen (id, body, until)
		VALUES ($1, $2, CASE WHEN $3::interval = interval '0' THEN 'infinity' ELSE clock_timestamp() + $3 END)
		ON CONFLICT DO NOTHING`, hash[:16], body, keep)
	if err != nil || tag.RowsAffected() > 0 {
		return err == nil, err
	}
	var same bool
	if err := tx.QueryRow(ctx, `SELECT body = $2 FROM calls_seen WHERE id = $1`, hash[:16], body).Scan(&same); err != nil {
		return false, err
	}
	if !same {
		return false, delivery.ErrNotGenuine
	}
	return false, nil
}

// wish does what the owner of an address wrote, once: a text that comes again later
// does not undo what they wrote since.
func (s *Store) wish(ctx context.Context, tx pgx.Tx, service string, w *delivery.Wish) error {
	fresh, err := seeCall(ctx, tx, service+"\x00text\x00"+w.ID, []byte{}, 0)
	if err != nil || !fresh {
		return err
	}
	h, err := s.hashAddress(ctx, w.Channel, w.Address)
	if err != nil {
		return err
	}
	if w.Stop {
		_, err = optOut(ctx, tx, w.Channel, h, w.Sender, "", "wrote stop")
		return err
	}
	return optIn(ctx, tx, w.Channel, h, w.Sender)
}

// reported is a delivery that a report is about.
type reported struct {
	day     time.Time
	key     []byte
	fan     int64
	item    notifier.ItemRef
	lane    notifier.Lane
	channel notifier.Channel
	state   delivery.DeliveryState
	phase   notifier.Phase
}

// findReported holds the row of the delivery that a report names, or returns nil.
func findReported(ctx context.Context, tx pgx.Tx, r *delivery.Report) (*reported, error) {
	which, name := `SELECT day, key FROM deliveries WHERE provider_id = $1`, any(r.ProviderID)
	if r.Key != nil {
		// A row is found by its day, which a key does not say.
		which = `SELECT d.day, d.key FROM generate_series(0, ` + strconv.Itoa(deliveryDays+1) + `) i
			JOIN deliveries d ON d.day = (clock_timestamp() AT TIME ZONE 'UTC')::date + 1 - i AND d.key = $1`
		name = r.Key[:]
	}
	var d reported
	err := tx.QueryRow(ctx, `
		SELECT d.day, d.key, d.fan_no, d.kind, d.ref, d.lane, d.channel, d.state, d.phase
		FROM (`+which+` LIMIT 1) x JOIN deliveries d ON d.day = x.day AND d.key = x.key
		WHERE d.channel = ANY($2) FOR UPDATE OF d`, name, r.Channels).
		Scan(&d.day, &d.key, &d.fan, &d.item.Kind, &d.item.Ref, &d.lane, &d.channel, &d.state, &d.phase)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &d, err
}

// report brings a delivery to the phase that its provider told of. Providers tell
// out of order and more than once: a phase never goes back, and the same one again
// is no news.
func (s *Store) report(ctx context.Context, tx pgx.Tx, r *delivery.Report) (h delivery.Heard, err error) {
	d, err := findReported(ctx, tx, r)
	if err != nil || d == nil || d.state != delivery.StateSent && d.state != delivery.StateGone {
		return h, err
	}
	h = delivery.Heard{Found: true, News: d.phase.Precedes(r.Phase), Channel: d.channel, Phase: r.Phase}
	if h.News {
		if err := s.reach(ctx, tx, d, r); err != nil {
			return h, err
		}
	}
	if r.Complaint || h.News && (r.Verdict == delivery.AddressDead || r.Verdict == delivery.OptedOut) {
		stopped, err := s.stopAddress(ctx, tx, d, r)
		if err != nil {
			return h, err
		}
		if h.Complained = stopped && r.Complaint; h.Complained {
			if err := countReport(ctx, tx, d.channel, "complained"); err != nil {
				return h, err
			}
		}
	}
	if h.News && r.Phase == notifier.PhaseOpened {
		h.Opened, err = openedBy(ctx, tx, d)
	}
	return h, err
}

// reach records the phase, and has the fan told by the next channels of what did not
// come.
func (s *Store) reach(ctx context.Context, tx pgx.Tx, d *reported, r *delivery.Report) error {
	lost := r.Phase == notifier.PhaseFailed || r.Phase == notifier.PhaseBounced
	_, err := tx.Exec(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
		put AS (
			UPDATE deliveries d SET phase = $3, state = CASE WHEN $5 THEN 'over' ELSE d.state END, phases = d.phases || jsonb_strip_nulls(
				jsonb_build_object('phase', $3::text, 'at', `+stampSQL("now.at")+`, 'reason', nullif($4::text, '')))
			FROM now WHERE d.day = $1 AND d.key = $2
			RETURNING d.*, $4::text AS reason)`+deliveryEvents("put", "x.phase", "x.reason"),
		d.day, d.key, string(r.Phase), r.Reason, lost)
	if err != nil {
		return err
	}
	if err := countReport(ctx, tx, d.channel, string(r.Phase)); err != nil || !lost {
		return err
	}
	plan := notifier.PlanArgs{Lane: d.lane}
	switch d.item.Kind {
	case notifier.KindTurn:
		plan.Opening, plan.Fans = d.item.Ref, []int64{d.fan}
	case notifier.KindMessage:
		plan.Messages = []int64{d.item.Ref}
	default:
		return nil
	}
	_, err = s.jobs.InsertTx(ctx, tx, plan, notifier.PlanJob(plan).InsertOpts)
	return err
}

// stopAddress uses the delivery's address no more: that which the provider names, or
// else the fan's, whichever the delivery's key is made of. It says whether it was
// used until now.
func (s *Store) stopAddress(ctx context.Context, tx pgx.Tx, d *reported, r *delivery.Report) (bool, error) {
	var email, phone string
	err := tx.QueryRow(ctx, `SELECT coalesce(email, ''), coalesce(phone, '') FROM fans WHERE fan_no = $1`, d.fan).Scan(&email, &phone)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	own := email
	if d.channel == notifier.SMS {
		own = phone
	}
	for _, address := range []string{r.Address, own} {
		key := notifier.KeyOf(d.item, d.fan, d.channel, delivery.Identity(d.channel, address))
		if address == "" || key != notifier.DeliveryKey(d.key) {
			continue
		}
		h, err := s.hashAddress(ctx, d.channel, address)
		if err != nil {
			return false, err
		}
		sender := ""
		if r.Verdict == delivery.OptedOut {
			sender = r.Sender
		}
		return optOut(ctx, tx, d.channel, h, sender, "", r.Reason)
	}
	return false, nil
}

// openedBy notes that the fan looked at the item, and returns who that is.
func openedBy(ctx context.Context, tx pgx.Tx, d *reported) (fan string, err error) {
	if _, err := tx.Exec(ctx, `
		INSERT INTO acks (fan_no, kind, ref, at) SELECT fan_no, $2, $3, clock_timestamp() FROM fans WHERE fan_no = $1
		ON CONFLICT DO NOTHING`, d.fan, d.item.Kind, d.item.Ref); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, `SELECT fan_id FROM fans WHERE fan_no = $1`, d.fan).Scan(&fan)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return fan, err
}

func countReport(ctx context.Context, tx pgx.Tx, c notifier.Channel, what string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO report_counts AS r (day, channel, what, slot, n)
		VALUES ((clock_timestamp() AT TIME ZONE 'UTC')::date, $1, $2, $3, 1)
		ON CONFLICT (day, channel, what, slot) DO UPDATE SET n = r.n + 1`, c, what, rand.IntN(reportSlots))
	return err
}

// ReportCounts are those of today and yesterday.
func (s *Store) ReportCounts(ctx context.Context) (map[notifier.Channel]delivery.ReportCounts, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT channel, what, sum(n)::bigint FROM report_counts
		WHERE day >= (clock_timestamp() AT TIME ZONE 'UTC')::date - 1 GROUP BY 1, 2`)
	if err != nil {
		return nil, err
	}
	counts := map[notifier.Channel]delivery.ReportCounts{}
	var c notifier.Channel
	var what string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&c, &what, &n}, func() error {
		r := counts[c]
		switch what {
		case "delivered":
			r.Delivered = n
		case "failed":
			r.Failed = n
		case "bounced":
			r.Bounced = n
		case "opened":
			r.Opened = n
		case "complained":
			r.Complained = n
		}
		counts[c] = r
		return nil
	})
	return counts, err
}

// keepEarly keeps a report whose delivery is not there, or not recorded as sent.
func keepEarly(ctx context.Context, tx pgx.Tx, r *delivery.Report) error {
	text := jsonOf(r)
	hash := sha256.Sum256(text)
	_, err := tx.Exec(ctx, `
		INSERT INTO early_reports (hash, report, at, next_at) VALUES ($1, $2::jsonb, clock_timestamp(), clock_timestamp())
		ON CONFLICT DO NOTHING`, hash[:16], string(text))
	return err
}

// TellEarly tries reports again that came before the send was recorded. Of several
// processes each takes others.
func (s *Store) TellEarly(ctx context.Context, most int) (heard []delivery.Heard, err error) {
	err = s.inTx(ctx, "try early reports", func(tx pgx.Tx) error {
		heard = nil
		rows, err := tx.Query(ctx, `
			UPDATE early_reports e SET next_at = clock_timestamp() + $2::interval
			FROM (SELECT hash FROM early_reports WHERE next_at <= clock_timestamp() ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
			WHERE e.hash = due.hash RETURNING e.hash, e.report::text`, most, earlyAgain)
		type early struct {
			Hash   []byte
			Report string
		}
		due, err := all(rows, err, pgx.RowToStructByPos[early])
		if err != nil {
			return err
		}
		var done [][]byte
		for _, e := range due {
			var r delivery.Report
			if err := json.Unmarshal([]byte(e.Report), &r); err != nil {
				return err
			}
			h, err := s.report(ctx, tx, &r)
			if err != nil {
				return err
			}
			if h.Found {
				heard, done = append(heard, h), append(done, e.Hash)
			}
		}
		if len(due) == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, `DELETE FROM early_reports WHERE hash = ANY($1)`, done)
		return err
	})
	return heard, err
}

// The removals of what is over of feedback, each up to $1 rows.
var dropFeedbackSQL = []string{
	`DELETE FROM early_reports WHERE hash = ANY(ARRAY(
		SELECT hash FROM early_reports WHERE at <= clock_timestamp() - interval '10 minutes' LIMIT $1))`,
	`DELETE FROM calls_seen WHERE id = ANY(ARRAY(
		SELECT id FROM calls_seen WHERE until <= clock_timestamp() ORDER BY until LIMIT $1))`,
	`DELETE FROM report_counts WHERE (day, channel, what, slot) IN (
		SELECT day, channel, what, slot FROM report_counts WHERE day < (clock_timestamp() AT TIME ZONE 'UTC')::date - 60 LIMIT $1)`,
}

var oldFeedback = removal{what: "remove old feedback", most: 5000, sql: dropFeedbackSQL}

// CallbackSecret is what the secrets of callbacks are made of.
func (s *Store) CallbackSecret(ctx context.Context) ([]byte, error) {
	return s.secret(ctx, secretCallbacks)
}
