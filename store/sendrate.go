package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
)

// newestEvents is how many of the newest events rates are taken from.
const newestEvents = 5000

// SendRates are those of the channels over all instances, from the newest events of
// the last ten seconds; and the devices retired in the last day.
func (s *Store) SendRates(ctx context.Context) ([]notifier.SendRate, error) {
	rows, err := s.pool.Query(ctx, `
		WITH newest AS MATERIALIZED (
			SELECT at, type, data FROM events WHERE at > now() - interval '10 seconds' ORDER BY id DESC LIMIT $1),
		span AS (
			SELECT CASE WHEN count(*) = $1 THEN greatest(extract(epoch FROM now() - min(at)), 0.1) ELSE 10 END AS s FROM newest),
		sends AS (
			SELECT data->>'channel' AS channel, count(*) FILTER (WHERE type = 'delivery.sent') AS sent,
				count(*) FILTER (WHERE type IN ('delivery.failed', 'delivery.bounced')) AS failed
			FROM newest WHERE type LIKE 'delivery.%' GROUP BY 1),
		retired AS (
			SELECT data->>'platform' AS channel, count(*) AS n FROM (
				SELECT data FROM events WHERE type = 'device.retired' AND at > now() - interval '1 day' LIMIT $2) e GROUP BY 1)
		SELECT coalesce(c.channel, r.channel), (coalesce(sent, 0) / s)::float8, (coalesce(failed, 0) / s)::float8, coalesce(r.n, 0)
		FROM (sends c FULL JOIN retired r USING (channel)) CROSS JOIN span
		WHERE coalesce(c.channel, r.channel) IS NOT NULL`, newestEvents, notifier.RetiredMost)
	return all(rows, err, func(row pgx.CollectableRow) (r notifier.SendRate, err error) {
		err = row.Scan(&r.Channel, &r.Sent, &r.Failed, &r.Retired)
		return r, err
	})
}
