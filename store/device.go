package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// Why devices are retired, beside what providers say.
const (
	retiredMoved = "registered elsewhere"
	retiredMany  = "more devices than a fan can have"
)

const deviceColumns = `device_id, platform, token, environment, topic, p256dh, auth, registered_at, used`

func scanDevice(row pgx.CollectableRow) (d delivery.Device, err error) {
	err = row.Scan(&d.ID, &d.Platform, &d.Token, &d.Environment, &d.Topic, &d.P256dh, &d.Auth, &d.RegisteredAt, &d.Used)
	return d, err
}

// Devices are a fan's, the one registered last first.
func (s *Store) Devices(ctx context.Context, fan string) ([]delivery.Device, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+deviceColumns+` FROM devices WHERE fan_no = (SELECT fan_no FROM fans WHERE fan_id = $1)
		ORDER BY registered_at DESC, device_id`, fan)
	return all(rows, err, scanDevice)
}

// Device returns a device; NotFound for one that was retired or moved.
func (s *Store) Device(ctx context.Context, fan, device string) (delivery.Device, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+deviceColumns+` FROM devices
		WHERE fan_no = (SELECT fan_no FROM fans WHERE fan_id = $1) AND device_id = $2`, fan, device)
	if err != nil {
		return delivery.Device{}, err
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDevice)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, waitlist.Refuse(waitlist.NotFound, "the fan has no device %q: it was never registered here, or its token was retired or moved to another owner; register it again", device)
	}
	return d, err
}

// PutDevice registers a device, changed by change, whose error it returns. From then
// on its token is this fan's alone, and it is used again.
func (s *Store) PutDevice(ctx context.Context, fan, device string, change func(*delivery.Device) error) (d delivery.Device, created bool, err error) {
	err = untilFansStay(func() error {
		no, err := s.FanNo(ctx, fan)
		if err != nil {
			return err
		}
		return s.inTx(ctx, "register a device", func(tx pgx.Tx) error {
			if err := lockFan(ctx, tx, no); err != nil {
				return err
			}
			if d, created, err = ownDevice(ctx, tx, no, device); err != nil {
				return err
			}
			if err := change(&d); err != nil {
				return err
			}
			retired, err := writeDevice(ctx, tx, no, &d)
			if err != nil {
				return err
			}
			return s.recordRetired(ctx, tx, retired)
		})
	})
	return d, created, err
}

// lockFan holds a fan's row: their devices change one by one, and none comes after
// the fan was erased.
func lockFan(ctx context.Context, tx pgx.Tx, fanNo int64) error {
	tag, err := tx.Exec(ctx, `SELECT FROM fans WHERE fan_no = $1 FOR NO KEY UPDATE`, fanNo)
	if err == nil && tag.RowsAffected() == 0 {
		return errFanGone
	}
	return err
}

// ownDevice is the device as it stands, or a new one.
func ownDevice(ctx context.Context, tx pgx.Tx, fanNo int64, device string) (d delivery.Device, created bool, err error) {
	rows, err := tx.Query(ctx, `SELECT `+deviceColumns+` FROM devices WHERE fan_no = $1 AND device_id = $2`, fanNo, device)
	if err != nil {
		return d, false, err
	}
	d, err = pgx.CollectExactlyOneRow(rows, scanDevice)
	if errors.Is(err, pgx.ErrNoRows) {
		return delivery.Device{ID: device}, true, nil
	}
	return d, false, err
}

// retired is a device that is gone.
type retired struct {
	fanNo    int64
	device   string
	platform notifier.Channel
	reason   string
}

func scanRetired(reason string) func(pgx.CollectableRow) (retired, error) {
	return func(row pgx.CollectableRow) (retired, error) {
		r := retired{reason: reason}
		err := row.Scan(&r.fanNo, &r.device, &r.platform)
		return r, err
	}
}

// writeDevice takes the token from whoever had it and gives it to the device. The
// token is locked before, so that of two who register it at once the second finds
// the first.
func writeDevice(ctx context.Context, tx pgx.Tx, fanNo int64, d *delivery.Device) ([]retired, error) {
	sum := sha256.Sum256([]byte("device\x00" + string(d.Platform) + "\x00" + d.Token))
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(binary.BigEndian.Uint64(sum[:]))); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `
		DELETE FROM devices WHERE platform = $1 AND token = $2 AND (fan_no, device_id) <> ($3, $4)
		RETURNING fan_no, device_id, platform`, d.Platform, d.Token, fanNo, d.ID)
	gone, err := all(rows, err, scanRetired(retiredMoved))
	if err != nil {
		return nil, err
	}
	d.Used = true
	if err := tx.QueryRow(ctx, `
		INSERT INTO devices (fan_no, device_id, platform, token, environment, topic, p256dh, auth, registered_at, used)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp(), true)
		ON CONFLICT (fan_no, device_id) DO UPDATE SET platform = excluded.platform, token = excluded.token,
			environment = excluded.environment, topic = excluded.topic, p256dh = excluded.p256dh, auth = excluded.auth,
			registered_at = greatest(excluded.registered_at, devices.registered_at + interval '1 microsecond'), used = true
		RETURNING registered_at`,
		fanNo, d.ID, d.Platform, d.Token, d.Environment, d.Topic, d.P256dh, d.Auth).Scan(&d.RegisteredAt); err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `
		DELETE FROM devices WHERE fan_no = $1 AND device_id IN (
			SELECT device_id FROM devices WHERE fan_no = $1 ORDER BY registered_at DESC, device_id OFFSET $2)
		RETURNING fan_no, device_id, platform`, fanNo, delivery.MaxDevices)
	tooMany, err := all(rows, err, scanRetired(retiredMany))
	return append(gone, tooMany...), err
}

// recordRetired stores the events of devices that are gone, without their tokens.
func (s *Store) recordRetired(ctx context.Context, tx pgx.Tx, gone []retired) error {
	if len(gone) == 0 {
		return nil
	}
	now, err := nowIn(ctx, tx)
	if err != nil {
		return err
	}
	events := make([]event, len(gone))
	for i, r := range gone {
		events[i] = event{Type: notifier.DeviceRetired, At: now, FanNo: r.fanNo, Data: map[string]any{
			"device": r.device, "platform": r.platform, "reason": r.reason,
		}}
	}
	return s.record(ctx, tx, events...)
}

// ForgetDevice removes a device of a fan, or all of them for "". There being none
// is no error.
func (s *Store) ForgetDevice(ctx context.Context, fan, device string) error {
	_, err := s.pool.Exec(ctx, `
		DELETE FROM devices WHERE fan_no = (SELECT fan_no FROM fans WHERE fan_id = $1) AND ($2 = '' OR device_id = $2)`, fan, device)
	return err
}

// RetireAddress forgets an address that a provider called dead: the one place where
// that happens. A device goes only if it is the fan's still, was registered before
// deadSince, and was not registered again since a was read; a number or a mailbox is
// opted out of for every sender, and stays the fan's contact.
func (s *Store) RetireAddress(ctx context.Context, fanNo int64, a delivery.Address, deadSince time.Time, reason string) (done bool, err error) {
	if !a.Channel.IsPush() {
		return true, s.OptOut(ctx, a.Channel, a.To, "", reason)
	}
	err = s.inTx(ctx, "retire a device", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			DELETE FROM devices WHERE fan_no = $1 AND platform = $2 AND token = $3 AND registered_at < $4`+asRead(5)+`
			RETURNING fan_no, device_id, platform`, fanNo, a.Channel, a.To, deadSince, registeredAt(a))
		gone, err := all(rows, err, scanRetired(reason))
		if err != nil {
			return err
		}
		done = len(gone) > 0
		return s.recordRetired(ctx, tx, gone)
	})
	return done, err
}

// asRead is the condition that a device was not registered again since it was read,
// for which parameter n is registeredAt: the machines' clocks have no say in it.
func asRead(n int) string {
	p := "$" + string(rune('0'+n)) + "::timestamptz"
	return ` AND (` + p + ` IS NULL OR registered_at = ` + p + `)`
}

func registeredAt(a delivery.Address) *time.Time {
	if a.RegisteredAt.IsZero() {
		return nil
	}
	return &a.RegisteredAt
}

// UnuseDevice keeps a device but does not use it until it is registered again.
func (s *Store) UnuseDevice(ctx context.Context, fanNo int64, a delivery.Address, reason string) error {
	tag, err := s.pool.Exec(ctx, `
		UPDATE devices SET used = false WHERE fan_no = $1 AND platform = $2 AND token = $3`+asRead(4),
		fanNo, a.Channel, a.To, registeredAt(a))
	if err == nil && tag.RowsAffected() > 0 {
		s.log.Info("a device is not used until it is registered again", "fan_no", fanNo, "platform", a.Channel, "reason", reason)
	}
	return err
}

// MoveDevice notes the environment of APNs that a token turned out to be of.
func (s *Store) MoveDevice(ctx context.Context, fanNo int64, a delivery.Address, environment string) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE devices SET environment = $4 WHERE fan_no = $1 AND platform = $2 AND token = $3`+asRead(5),
		fanNo, a.Channel, a.To, environment, registeredAt(a))
	return err
}
