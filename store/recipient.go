package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

var _ delivery.Recipients = (*Store)(nil)

// Recipients returns those of the fans who are known, with their addresses of these
// channels: two statements whatever their number, in one exchange.
func (s *Store) Recipients(ctx context.Context, fans []int64, channels []notifier.Channel) (map[int64]*delivery.Recipient, error) {
	to := make(map[int64]*delivery.Recipient, len(fans))
	b := &pgx.Batch{}
	b.Queue(`SELECT f.fan_no, `+profileColumns+` FROM fans f WHERE f.fan_no = ANY($1)`,
		append([]any{fans}, s.senderArgs()...)...).Query(func(rows pgx.Rows) error { return scanRecipients(rows, channels, to) })
	if slices.ContainsFunc(channels, notifier.Channel.IsPush) {
		b.Queue(`
			SELECT fan_no, `+deviceColumns+` FROM devices
			WHERE fan_no = ANY($1) AND platform = ANY($2) AND used ORDER BY fan_no, registered_at DESC, device_id`,
			fans, channels).Query(func(rows pgx.Rows) error { return addDevices(rows, to) })
	}
	return to, s.pool.SendBatch(ctx, b).Close()
}

// scanRecipients reads profiles, with the mailboxes and numbers that can be used.
func scanRecipients(rows pgx.Rows, channels []notifier.Channel, to map[int64]*delivery.Recipient) error {
	defer rows.Close()
	zones := map[string]*time.Location{}
	for rows.Next() {
		var no int64
		var row profileRow
		if err := rows.Scan(append([]any{&no}, row.fields()...)...); err != nil {
			return err
		}
		p, err := row.profile()
		if err != nil {
			return err
		}
		r := p.Recipient(no, zoneIn(zones, p.TimeZone))
		for _, a := range []delivery.Address{{Channel: notifier.SMS, To: p.Phone}, {Channel: notifier.Email, To: p.Email}} {
			if a.To != "" && slices.Contains(channels, a.Channel) && !slices.Contains(p.OptedOut[a.Channel], "") {
				r.Addresses = append(r.Addresses, a)
			}
		}
		to[no] = r
	}
	return rows.Err()
}

// addDevices reads devices of those in to.
func addDevices(rows pgx.Rows, to map[int64]*delivery.Recipient) error {
	var no int64
	var d delivery.Device
	_, err := pgx.ForEachRow(rows, []any{
		&no, &d.ID, &d.Platform, &d.Token, &d.Environment, &d.Topic, &d.P256dh, &d.Auth, &d.RegisteredAt, &d.Used,
	}, func() error {
		if r := to[no]; r != nil {
			r.Addresses = append(r.Addresses, d.Address())
		}
		return nil
	})
	return err
}

// zoneIn is a zone that was checked when it was stored, read once; nil is none, or
// one that this machine has lost.
func zoneIn(zones map[string]*time.Location, name string) *time.Location {
	if name == "" {
		return nil
	}
	zone, known := zones[name]
	if !known {
		zone, _ = waitlist.LoadZone(name)
		zones[name] = zone
	}
	return zone
}
