package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// An opt-out is kept by a keyed hash of the address in the form that is the same
// however it was typed: it outlives the fan who had the address, whoever has it
// later and however they write it, and does not tell whose it is. The key keeps
// numbers, which are few enough to be tried, from being read out of a copy of the
// table.

// addressHash is an address as opt_outs has it.
type addressHash [16]byte

func (s *Store) hashAddress(ctx context.Context, c notifier.Channel, address string) (h addressHash, err error) {
	key, err := s.secret(ctx, secretAddresses)
	if err != nil {
		return h, err
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte(string(c) + "\x00" + delivery.Identity(c, address)))
	return addressHash(m.Sum(nil)), nil
}

// hashOrNull is the hash of an address, or nil for none.
func (s *Store) hashOrNull(ctx context.Context, c notifier.Channel, address string) ([]byte, error) {
	if address == "" {
		return nil, nil
	}
	h, err := s.hashAddress(ctx, c, address)
	return h[:], err
}

// OptOut stops a channel to an address from a sender; "" is every sender. A device
// of that token is kept, but not used.
func (s *Store) OptOut(ctx context.Context, c notifier.Channel, address, sender, reason string) error {
	if c.IsPush() {
		_, err := s.pool.Exec(ctx, `UPDATE devices SET used = false WHERE platform = $1 AND token = $2`, c, address)
		return err
	}
	h, err := s.hashAddress(ctx, c, address)
	if err != nil {
		return err
	}
	_, err = optOut(ctx, s.pool, c, h, sender, "", reason)
	return err
}

// optOut says whether it is new.
func optOut(ctx context.Context, q executor, c notifier.Channel, h addressHash, sender string, kind notifier.Kind, reason string) (bool, error) {
	tag, err := q.Exec(ctx, `
		INSERT INTO opt_outs (channel, address, sender, kind, reason, at)
		VALUES ($1, $2, $3, $4, $5, clock_timestamp()) ON CONFLICT DO NOTHING`, c, h[:], sender, kind, reason)
	return tag.RowsAffected() > 0, err
}

// executor is a pool or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// OptIn takes an OptOut of that sender back. What was stopped for every sender, and
// what was unsubscribed from by kind, stays.
func (s *Store) OptIn(ctx context.Context, c notifier.Channel, address, sender string) error {
	h, err := s.hashAddress(ctx, c, address)
	if err != nil {
		return err
	}
	return optIn(ctx, s.pool, c, h, sender)
}

func optIn(ctx context.Context, q executor, c notifier.Channel, h addressHash, sender string) error {
	_, err := q.Exec(ctx, `
		DELETE FROM opt_outs WHERE channel = $1 AND address = $2 AND sender = $3 AND kind = ''`, c, h[:], sender)
	return err
}

// A token says channel, kind and the address's hash: neither who the fan is nor
// where, and it works after they were erased or moved to another mailbox.
const (
	tokenVersion = 1
	tokenBody    = 3 + len(addressHash{})
	tokenMAC     = 16
)

// UnsubscribeToken signs the address's one-click opt-out of a kind.
func (s *Store) UnsubscribeToken(ctx context.Context, a delivery.Address, kind notifier.Kind) (string, error) {
	h, err := s.hashAddress(ctx, a.Channel, a.To)
	if err != nil {
		return "", err
	}
	body := append([]byte{
		tokenVersion, byte(slices.Index(notifier.Channels, a.Channel)),
		byte(slices.Index(notifier.OptOutKinds, notifier.PreferenceOf(kind))),
	}, h[:]...)
	mac, err := s.signToken(ctx, body)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(body, mac...)), nil
}

func (s *Store) signToken(ctx context.Context, body []byte) ([]byte, error) {
	key, err := s.secret(ctx, secretUnsubscribe)
	if err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)[:tokenMAC], nil
}

// Subscription says what a token opts out of. It changes nothing. A token that is
// not genuine is NotFound.
func (s *Store) Subscription(ctx context.Context, token string) (notifier.Channel, notifier.Kind, error) {
	c, k, _, err := s.readToken(ctx, token)
	return c, k, err
}

// Unsubscribe opts the address of a token out of its kind on its channel, and of
// nothing else. Again: no error.
func (s *Store) Unsubscribe(ctx context.Context, token string) (notifier.Channel, notifier.Kind, error) {
	c, k, h, err := s.readToken(ctx, token)
	if err != nil {
		return "", "", err
	}
	_, err = optOut(ctx, s.pool, c, h, "", k, "unsubscribed")
	return c, k, err
}

func (s *Store) readToken(ctx context.Context, token string) (c notifier.Channel, k notifier.Kind, h addressHash, err error) {
	invalid := waitlist.Refuse(waitlist.NotFound, "this link is not complete, or not one of ours; use it as it stands in the message")
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != tokenBody+tokenMAC {
		return "", "", h, invalid
	}
	mac, err := s.signToken(ctx, b[:tokenBody])
	if err != nil {
		return "", "", h, err
	}
	channel, kind := int(b[1]), int(b[2])
	if !hmac.Equal(mac, b[tokenBody:]) || b[0] != tokenVersion ||
		channel >= len(notifier.Channels) || kind >= len(notifier.OptOutKinds) {
		return "", "", h, invalid
	}
	return notifier.Channels[channel], notifier.OptOutKinds[kind], addressHash(b[3:tokenBody]), nil
}

// resubscribe takes back what the owner of fan number $1's addresses unsubscribed
// from, for the channels that they now ask for again themselves.
func resubscribe(ctx context.Context, tx pgx.Tx, p *storedProfile, k notifier.Kind) error {
	channels, _ := notifier.ChannelsOf(p.Words(k))
	if k == notifier.KindDigest {
		channels = []notifier.Channel{notifier.Email}
	}
	for c, h := range map[notifier.Channel][]byte{notifier.Email: p.emailHash, notifier.SMS: p.phoneHash} {
		if h == nil || !slices.Contains(channels, c) {
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM opt_outs WHERE channel = $1 AND address = $2 AND kind = $3`, c, h, k); err != nil {
			return err
		}
	}
	return nil
}
