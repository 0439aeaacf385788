package store

import (
	"context"

	"fanline/notifier"
)

// earlier are the phases that may go on to p.
func earlier(p notifier.Phase) (phases []string) {
	for _, q := range notifier.Phases {
		if q.Precedes(p) {
			phases = append(phases, string(q))
		}
	}
	return phases
}

// TellPhase brings the delivery that a provider calls providerID to a phase that it
// told of. Providers tell out of order and more than once: a phase never goes back,
// and the same one again is no news. It says whether this was news.
func (s *Store) TellPhase(ctx context.Context, c notifier.Channel, providerID string, phase notifier.Phase, reason string) (bool, error) {
	return s.tellPhase(ctx, `d.provider_id = $2`, c, providerID, phase, reason)
}

// TellPhaseOf is TellPhase for a delivery that is named by its key, the collapse id
// or Message-ID.
func (s *Store) TellPhaseOf(ctx context.Context, c notifier.Channel, key notifier.DeliveryKey, phase notifier.Phase, reason string) (bool, error) {
	return s.tellPhase(ctx, `d.key = $2`, c, key[:], phase, reason)
}

func (s *Store) tellPhase(ctx context.Context, which string, c notifier.Channel, name any, phase notifier.Phase, reason string) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
		put AS (
			UPDATE deliveries d SET phase = $3, phases = d.phases || jsonb_strip_nulls(
				jsonb_build_object('phase', $3::text, 'at', `+stampSQL("now.at")+`, 'reason', nullif($4::text, '')))
			FROM now WHERE `+which+` AND d.channel = $1 AND d.state = 'sent' AND d.phase = ANY($5)
			RETURNING d.*, $4::text AS reason)`+deliveryEvents("put", "x.phase", "x.reason"),
		c, name, string(phase), reason, earlier(phase))
	return tag.RowsAffected() > 0, err
}
