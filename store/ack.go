package store

import (
	"context"
	"strings"

	"fanline/notifier"
)

// Ack notes that a fan saw items on a screen: they are told of those no more, and
// what was told them over a socket is delivered. Ids that are no items are left
// alone.
func (s *Store) Ack(ctx context.Context, fan string, ids []string) error {
	return s.see(ctx, fan, ids, notifier.PhaseDelivered, `d.channel = 'live' AND d.phase = 'sent'`)
}

// openedSQL is whether a delivery d is opened that its fan opened from an alert, which is
// not named: what went to devices, and of the rest what alone was sent. A mail beside a
// push is not taken for opened: it may bounce yet, and would not be believed.
const openedSQL = `d.channel <> 'live' AND d.state = 'sent' AND d.phase IN ('sent', 'delivered')
	AND (d.channel IN ('apns', 'fcm', 'webpush') OR NOT EXISTS (
		SELECT FROM deliveries x WHERE x.day = d.day AND x.ref = d.ref AND x.kind = d.kind AND x.fan_no = d.fan_no
			AND x.channel <> 'live' AND x.state = 'sent' AND x.key <> d.key))`

// Opened is Ack for items that a fan opened from an alert.
func (s *Store) Opened(ctx context.Context, fan string, ids []string) error {
	return s.see(ctx, fan, ids, notifier.PhaseOpened, openedSQL)
}

// see notes items as seen, and brings their deliveries of which which is true to a
// phase.
func (s *Store) see(ctx context.Context, fan string, ids []string, phase notifier.Phase, which string) error {
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return err
	}
	kinds, shows, rest := itemIDs(ids)
	if len(kinds) == 0 {
		return nil
	}
	_, err = s.pool.Exec(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
		ids AS (SELECT DISTINCT * FROM unnest($2::text[], $3::text[], $4::text[]) i (kind, show_id, id)),
		seen AS (
			SELECT i.kind, o.opening_no AS ref FROM ids i JOIN shows s ON s.show_id = i.show_id
			JOIN openings o ON o.show_no = s.show_no AND o.opening_id = i.id WHERE i.kind IN ('turn', 'result')
			UNION
			SELECT i.kind, a.announcement_no FROM ids i JOIN shows s ON s.show_id = i.show_id
			JOIN announcements a ON a.show_no = s.show_no AND a.announcement_id = i.id WHERE i.kind = 'announcement'
			UNION
			SELECT i.kind, m.msg_no FROM ids i JOIN messages m ON m.id = i.id AND m.fan_no = $1 WHERE i.kind = 'message'),
		fresh AS (
			INSERT INTO acks (fan_no, kind, ref, at) SELECT $1, kind, ref, now.at FROM seen, now
			ON CONFLICT DO NOTHING RETURNING kind, ref),
		put AS (
			UPDATE deliveries d SET phase = $5,
				phases = d.phases || jsonb_build_object('phase', $5::text, 'at', `+stampSQL("now.at")+`)
			FROM seen, now WHERE d.ref = seen.ref AND d.kind = seen.kind AND d.fan_no = $1 AND `+which+`
			RETURNING d.*)`+deliveryEvents("put", "x.phase", "''"), no, kinds, shows, rest, string(phase))
	return err
}

// itemIDs takes the ids of items apart: kind, show and the rest.
func itemIDs(ids []string) (kinds, shows, rest []string) {
	words := map[string]notifier.Kind{
		"turn": notifier.KindTurn, "result": notifier.KindResult, "ann": notifier.KindAnnouncement, "msg": notifier.KindMessage,
	}
	for _, id := range ids {
		word, of, _ := strings.Cut(id, ":")
		kind, ok := words[word]
		if !ok {
			continue
		}
		show := ""
		if kind != notifier.KindMessage {
			if show, of, ok = strings.Cut(of, ":"); !ok {
				continue
			}
		}
		kinds, shows, rest = append(kinds, string(kind)), append(shows, show), append(rest, of)
	}
	return kinds, shows, rest
}

// oldAcks are those of items whose deliveries are gone.
var oldAcks = removal{what: "remove old acks", most: 5000, sql: []string{`
	DELETE FROM acks WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM acks WHERE at <= (SELECT clock_timestamp() - ` + acksKept + `)
		ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED))`}}
