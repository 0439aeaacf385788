package store

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
)

// storedProfile is a profile as read, with the hashes of its addresses.
type storedProfile struct {
	delivery.Profile
	emailHash, phoneHash []byte
}

// profileColumns of fans f are what profileRow reads. The senders that count are
// $2 of email and $3 of sms; "" is every one.
const profileColumns = `coalesce(f.email, ''), coalesce(f.phone, ''), f.email_hash, f.phone_hash, f.locale, f.time_zone,
	f.channels, f.quiet_from, f.quiet_to, f.turn_at_night, f.digest_hour,
	(SELECT array_agg(DISTINCT o.kind) FROM opt_outs o WHERE o.channel = 'email' AND o.address = f.email_hash
		AND (o.sender IN ('', $2) OR $2 = '')),
	(SELECT array_agg(DISTINCT o.kind) FROM opt_outs o WHERE o.channel = 'sms' AND o.address = f.phone_hash
		AND (o.sender IN ('', $3) OR $3 = ''))`

// senderArgs are $2 and $3 of profileColumns.
func (s *Store) senderArgs() []any {
	return []any{s.senders[notifier.Email], s.senders[notifier.SMS]}
}

// profileRow is where a row of profileColumns goes.
type profileRow struct {
	p          storedProfile
	channels   []byte
	from, to   *int
	email, sms []notifier.Kind
}

func (r *profileRow) fields() []any {
	p := &r.p
	return []any{
		&p.Email, &p.Phone, &p.emailHash, &p.phoneHash, &p.Locale, &p.TimeZone, &r.channels, &r.from, &r.to,
		&p.TurnAtNight, &p.DigestHour, &r.email, &r.sms,
	}
}

func (r *profileRow) profile() (storedProfile, error) {
	p := r.p
	if r.channels != nil {
		if err := json.Unmarshal(r.channels, &p.Channels); err != nil {
			return p, err
		}
	}
	if r.from != nil && r.to != nil {
		p.Quiet = &delivery.QuietHours{From: *r.from, To: *r.to}
	}
	p.OptedOut = map[notifier.Channel][]notifier.Kind{}
	for c, kinds := range map[notifier.Channel][]notifier.Kind{notifier.Email: r.email, notifier.SMS: r.sms} {
		if len(kinds) > 0 {
			p.OptedOut[c] = kinds
		}
	}
	return p, nil
}

// Profile returns a fan's contact and preferences; those of one who was never named
// are the defaults.
func (s *Store) Profile(ctx context.Context, fan string) (delivery.Profile, error) {
	var r profileRow
	err := s.pool.QueryRow(ctx, `SELECT `+profileColumns+` FROM fans f WHERE f.fan_id = $1`,
		append([]any{fan}, s.senderArgs()...)...).Scan(r.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return delivery.DefaultProfile(), nil
	}
	if err != nil {
		return delivery.Profile{}, err
	}
	p, err := r.profile()
	return p.Profile, err
}

// PutProfile changes a fan's profile as change says, whose error it returns, and
// returns what then stands. again are the kinds whose channels the fan chose in
// person: that takes back what they had unsubscribed from.
func (s *Store) PutProfile(ctx context.Context, fan string, change func(*delivery.Profile) error, again ...notifier.Kind) (delivery.Profile, error) {
	var p storedProfile
	err := untilFansStay(func() error {
		no, err := s.FanNo(ctx, fan)
		if err != nil {
			return err
		}
		return s.inTx(ctx, "change a profile", func(tx pgx.Tx) error {
			if p, err = s.lockProfile(ctx, tx, no); err != nil {
				return err
			}
			if err := change(&p.Profile); err != nil {
				return err
			}
			if err := s.writeProfile(ctx, tx, no, &p); err != nil {
				return err
			}
			for _, k := range again {
				if err := resubscribe(ctx, tx, &p, k); err != nil {
					return err
				}
			}
			p, err = s.lockProfile(ctx, tx, no) // with the opt-outs of what was changed
			return err
		})
	})
	return p.Profile, err
}

// lockProfile reads a profile and holds the fan's row.
func (s *Store) lockProfile(ctx context.Context, tx pgx.Tx, fanNo int64) (storedProfile, error) {
	var r profileRow
	err := tx.QueryRow(ctx, `SELECT `+profileColumns+` FROM fans f WHERE f.fan_no = $1 FOR NO KEY UPDATE OF f`,
		append([]any{fanNo}, s.senderArgs()...)...).Scan(r.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return storedProfile{}, errFanGone
	}
	if err != nil {
		return storedProfile{}, err
	}
	return r.profile()
}

func (s *Store) writeProfile(ctx context.Context, tx pgx.Tx, fanNo int64, p *storedProfile) (err error) {
	if p.emailHash, err = s.hashOrNull(ctx, notifier.Email, p.Email); err != nil {
		return err
	}
	if p.phoneHash, err = s.hashOrNull(ctx, notifier.SMS, p.Phone); err != nil {
		return err
	}
	stale(tx, inboxKey(fanNo)) // its texts are in the fan's language
	var channels *string
	if len(p.Channels) > 0 {
		text := string(jsonOf(p.Channels))
		channels = &text
	}
	var from, to *int
	if p.Quiet != nil {
		from, to = &p.Quiet.From, &p.Quiet.To
	}
	_, err = tx.Exec(ctx, `
		UPDATE fans SET email = nullif($2, ''), phone = nullif($3, ''), email_hash = $4, phone_hash = $5, locale = $6,
			time_zone = $7, channels = $8::jsonb, quiet_from = $9, quiet_to = $10, turn_at_night = $11, digest_hour = $12
		WHERE fan_no = $1`,
		fanNo, p.Email, p.Phone, p.emailHash, p.phoneHash, p.Locale, p.TimeZone, channels, from, to, p.TurnAtNight, p.DigestHour)
	return err
}

// readLocales fills in the locales of the items' fans, where the texts that their
// show has make a difference.
func (s *Store) readLocales(ctx context.Context, items []item) error {
	at := map[int64][]int{}
	for i := range items {
		if items[i].show.Templates.Languages() {
			at[items[i].fan] = append(at[items[i].fan], i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, `SELECT fan_no, locale FROM fans WHERE fan_no = ANY($1) AND locale <> ''`,
		slices.Collect(maps.Keys(at)))
	if err != nil {
		return err
	}
	var fan int64
	var locale string
	_, err = pgx.ForEachRow(rows, []any{&fan, &locale}, func() error {
		for _, i := range at[fan] {
			items[i].locale = locale
		}
		return nil
	})
	return err
}
