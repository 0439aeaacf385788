package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// turnKey names an entry's turn at an opening.
type turnKey struct{ opening, eno int64 }

// lapsedTurn is a turn that closed without an act.
type lapsedTurn struct {
	turnKey
	fan   int64
	opens time.Time
	mode  waitlist.Mode
}

// noteUnreached writes down which of the turns no channel could carry: something was
// tried for a fan who was not connected, nothing took it, and they did not look. A
// fan without any address, for whom nothing could be tried, is not among them. Once
// it is counted, later news of a delivery changes nothing.
func noteUnreached(ctx context.Context, tx pgx.Tx, lapsed []lapsedTurn) (map[turnKey]bool, error) {
	if len(lapsed) == 0 {
		return nil, nil
	}
	n := len(lapsed)
	openings, enos, fans := make([]int64, n), make([]int64, n), make([]int64, n)
	days, opens := make([]time.Time, n), make([]time.Time, n)
	for i, l := range lapsed {
		openings[i], enos[i], fans[i], days[i], opens[i] = l.opening, l.eno, l.fan, dayOf(l.opens), l.opens
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO unreached (opening_no, eno)
		SELECT c.opening_no, c.eno
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::date[], $5::timestamptz[]) c (opening_no, eno, fan_no, day, opens)
		CROSS JOIN LATERAL (
			SELECT bool_or(d.state = 'sent' AND d.phase NOT IN ('failed', 'bounced')) AS taken FROM deliveries d
			WHERE d.day = c.day AND d.ref = c.opening_no AND d.kind = 'turn' AND d.fan_no = c.fan_no) d
		WHERE NOT d.taken
			AND NOT EXISTS (SELECT FROM acks a WHERE a.fan_no = c.fan_no AND a.kind = 'turn' AND a.ref = c.opening_no)
			AND NOT EXISTS (SELECT FROM inbox_reads r WHERE r.fan_no = c.fan_no AND r.kind = 'turn' AND r.ref = c.opening_no)
			AND NOT EXISTS (SELECT FROM fans f WHERE f.fan_no = c.fan_no AND f.read_before > c.opens)
		ON CONFLICT DO NOTHING RETURNING opening_no, eno`, openings, enos, fans, days, opens)
	keys, err := all(rows, err, func(row pgx.CollectableRow) (k turnKey, err error) {
		err = row.Scan(&k.opening, &k.eno)
		return k, err
	})
	unreached := make(map[turnKey]bool, len(keys))
	for _, k := range keys {
		unreached[k] = true
	}
	return unreached, err
}

// markUnreached adds to an entry's turns which of them no channel carried.
func markUnreached(ctx context.Context, q querier, eno int64, turns []waitlist.Telling) error {
	openings := make([]int64, len(turns))
	for i := range turns {
		openings[i] = turns[i].OpeningNo
	}
	rows, err := q.Query(ctx, `SELECT opening_no FROM unreached WHERE opening_no = ANY($1) AND eno = $2`, openings, eno)
	found, err := all(rows, err, pgx.RowTo[int64])
	for _, no := range found {
		for i := range turns {
			turns[i].Unreached = turns[i].Unreached || turns[i].OpeningNo == no
		}
	}
	return err
}
