package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"fanline/delivery"
	"fanline/notifier"
)

// deliveryColumns are those of deliveries d. Their addresses are those of today,
// "" where the fan has none any more.
const deliveryColumns = `encode(d.key, 'hex'), d.item, d.fan_no, d.channel, coalesce(CASE d.channel
		WHEN 'sms' THEN (SELECT f.phone FROM fans f WHERE f.fan_no = d.fan_no)
		WHEN 'email' THEN (SELECT f.email FROM fans f WHERE f.fan_no = d.fan_no)
		WHEN 'live' THEN ''
		ELSE (SELECT v.token FROM devices v WHERE v.fan_no = d.fan_no AND v.device_id = d.address_ref) END, ''),
	d.phase, d.phases, d.created_at`

func scanDelivery(row pgx.CollectableRow) (d notifier.Delivery, err error) {
	var phases []byte
	if err := row.Scan(&d.ID, &d.ItemID, &d.FanNo, &d.Channel, &d.Address, &d.Phase, &phases, &d.At); err != nil {
		return d, err
	}
	if d.Address != "" {
		d.Address = delivery.Mask(d.Channel, d.Address)
	}
	return d, json.Unmarshal(phases, &d.Phases)
}

// DeliveriesOf are those of an item to a fan, oldest first.
func (s *Store) DeliveriesOf(ctx context.Context, item notifier.ItemRef, fanNo int64) ([]notifier.Delivery, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+deliveryColumns+` FROM deliveries d WHERE d.ref = $1 AND d.kind = $2 AND d.fan_no = $3
		ORDER BY d.created_at, d.key`, item.Ref, item.Kind, fanNo)
	return all(rows, err, scanDelivery)
}

// DeliveriesTo are a fan's newest, newest first.
func (s *Store) DeliveriesTo(ctx context.Context, fanNo int64, limit int) ([]notifier.Delivery, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+deliveryColumns+` FROM deliveries d WHERE d.fan_no = $1
		ORDER BY d.created_at DESC, d.key LIMIT $2`, fanNo, limit)
	return all(rows, err, scanDelivery)
}
