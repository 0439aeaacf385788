package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"fanline/delivery"
	"fanline/notifier"
)

// draftsSQL are drafts as the statements take them: $1 to $10.
const draftsSQL = `unnest($1::date[], $2::bytea[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
	WITH ORDINALITY AS a (day, key, fan_no, kind, ref, item, lane, channel, address_ref, token, i)`

// draftArgs are the drafts' columns.
func draftArgs(drafts []delivery.Draft) []any {
	n := len(drafts)
	days, keys, fans := make([]time.Time, n), make([][]byte, n), make([]int64, n)
	kinds, refs, items := make([]string, n), make([]int64, n), make([]string, n)
	lanes, channels, addresses, tokens := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i := range drafts {
		d := &drafts[i]
		days[i], keys[i], fans[i] = dayOf(d.Moment), d.Key[:], d.FanNo
		kinds[i], refs[i], items[i] = string(d.Item.Kind), d.Item.Ref, d.ItemID
		lanes[i], channels[i], addresses[i], tokens[i] = string(d.Lane), string(d.Channel), d.AddressRef, d.Token
	}
	return []any{days, keys, fans, kinds, refs, items, lanes, channels, addresses, tokens}
}

// stampSQL is the SQL of a moment as notifier.Stamp writes it.
func stampSQL(t string) string {
	return `to_char(` + t + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

// deliveryEvents is the SQL that tells the stream of rows of deliveries, and of
// their reasons, as a statement's last part.
func deliveryEvents(from, phase, reason string) string {
	return `
		INSERT INTO events (at, type, show_no, opening_no, fan_no, live, data)
		SELECT now.at, 'delivery.' || ` + phase + `, coalesce(o.show_no, n.show_no), o.opening_no, x.fan_no, false,
			jsonb_strip_nulls(jsonb_build_object('id', encode(x.key, 'hex'), 'item', x.item, 'channel', x.channel, 'reason', nullif(` + reason + `, '')))
		FROM now, ` + from + ` x
		LEFT JOIN openings o ON x.kind = 'turn' AND o.opening_no = x.ref
		LEFT JOIN announcements n ON x.kind = 'announcement' AND n.announcement_no = x.ref`
}

// Lease takes those deliveries that nobody else has and that were not sent, in one
// statement that decides. A device's token must still be the fan's own.
func (s *Store) Lease(ctx context.Context, drafts []delivery.Draft, lease time.Duration) ([]delivery.Lease, error) {
	rows, err := s.pool.Query(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
		ask AS MATERIALIZED (
			SELECT a.*, a.token = '' OR EXISTS (
				SELECT FROM devices v WHERE v.platform = a.channel AND v.token = a.token AND v.fan_no = a.fan_no AND v.used) AS owned
			FROM `+draftsSQL+`),
		was AS MATERIALIZED (
			SELECT a.i, d.state, d.next_at FROM ask a JOIN deliveries d ON d.day = a.day AND d.key = a.key),
		took AS (
			INSERT INTO deliveries AS d (day, key, fan_no, kind, ref, item, lane, channel, address_ref, state, next_at, attempts, phase, phases, created_at)
			SELECT a.day, a.key, a.fan_no, a.kind, a.ref, a.item, a.lane, a.channel, a.address_ref, 'leased', now.at + $11, 1,
				'accepted', jsonb_build_array(jsonb_build_object('phase', 'accepted', 'at', `+stampSQL("now.at")+`)), now.at
			FROM ask a, now WHERE a.owned ORDER BY a.key
			ON CONFLICT (day, key) DO UPDATE SET state = 'leased', next_at = excluded.next_at, attempts = d.attempts + 1,
				unsure = d.unsure OR d.state = 'leased'
			WHERE d.state IN ('leased', 'waiting') AND d.next_at <= clock_timestamp()
			RETURNING d.day, d.key, d.fan_no, d.kind, d.ref, d.item, d.channel, d.attempts, d.unsure),
		told AS (`+deliveryEvents("(SELECT * FROM took WHERE attempts = 1)", "'accepted'", "''")+`)
		SELECT t.key IS NOT NULL, coalesce(t.attempts, 0), coalesce(t.unsure, false),
			CASE WHEN a.owned THEN coalesce(w.state, 'leased') ELSE '' END, coalesce(w.next_at, now.at + $11)
		FROM now, ask a LEFT JOIN took t ON t.day = a.day AND t.key = a.key LEFT JOIN was w ON w.i = a.i
		ORDER BY a.i`, append(draftArgs(drafts), lease)...)
	return all(rows, err, func(row pgx.CollectableRow) (l delivery.Lease, err error) {
		err = row.Scan(&l.Mine, &l.Attempt, &l.Unsure, &l.State, &l.NextAt)
		return l, err
	})
}

// Renew has leases last as long again from now, of those that nobody else took since.
func (s *Store) Renew(ctx context.Context, keys []delivery.LeaseKey, lease time.Duration) ([]notifier.DeliveryKey, error) {
	days, names, attempts := make([]time.Time, len(keys)), make([][]byte, len(keys)), make([]int, len(keys))
	for i := range keys {
		days[i], names[i], attempts[i] = dayOf(keys[i].Moment), keys[i].Key[:], keys[i].Attempt
	}
	rows, err := s.pool.Query(ctx, `
		UPDATE deliveries d SET next_at = a.till FROM (
			SELECT d.day, d.key, clock_timestamp() + $3::interval AS till
			FROM unnest($1::date[], $2::bytea[], $4::int[]) k (day, key, attempt) JOIN deliveries d USING (day, key)
			WHERE d.state = 'leased' AND d.attempts = k.attempt ORDER BY d.key FOR UPDATE OF d) a
		WHERE d.day = a.day AND d.key = a.key RETURNING d.key`, days, names, lease, attempts)
	return all(rows, err, func(row pgx.CollectableRow) (key notifier.DeliveryKey, err error) {
		var name []byte
		err = row.Scan(&name)
		copy(key[:], name)
		return key, err
	})
}

// phasesMost is how many phases of a delivery are kept while it waits.
const phasesMost = 20

// putSQL is the SQL of whether a result may be stored: what is sent or over stays, and
// of what somebody else attempts only that it was sent is news.
const putSQL = `d.state = 'waiting' OR d.state = 'leased' AND (
	excluded.state = 'sent' OR excluded.attempts = d.attempts OR d.next_at <= clock_timestamp())`

// Put stores results with their events, and the jobs that follow.
func (s *Store) Put(ctx context.Context, results []delivery.Result, then []notifier.PlanArgs) error {
	return s.inTx(ctx, "record deliveries", func(tx pgx.Tx) error {
		if err := put(ctx, tx, results); err != nil {
			return err
		}
		jobs := make([]river.InsertManyParams, len(then))
		for i, a := range then {
			jobs[i] = notifier.PlanJob(a)
		}
		return s.queue(ctx, tx, jobs)
	})
}

// fewJobs go in by one statement, more by COPY, which is faster but takes three
// exchanges with Postgres.
const fewJobs = 16

// queue inserts jobs, if there are any.
func (s *Store) queue(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) (err error) {
	switch n := len(jobs); {
	case n == 0:
	case n <= fewJobs:
		_, err = s.jobs.InsertManyTx(ctx, tx, jobs)
	default:
		_, err = s.jobs.InsertManyFastTx(ctx, tx, jobs)
	}
	return err
}

func put(ctx context.Context, tx pgx.Tx, results []delivery.Result) error {
	if len(results) == 0 {
		return nil
	}
	n := len(results)
	drafts := make([]delivery.Draft, n)
	states, nexts, phases := make([]string, n), make([]*time.Time, n), make([]string, n)
	reasons, providers, unsure, attempts := make([]string, n), make([]string, n), make([]bool, n), make([]int, n)
	for i := range results {
		r := &results[i]
		drafts[i], states[i], phases[i] = r.Draft, string(r.State), string(r.Phase)
		reasons[i], providers[i], unsure[i], attempts[i] = r.Reason, r.ProviderID, r.Unsure, r.Attempt
		if r.State == delivery.StateWaiting {
			nexts[i] = &r.NextAt
		}
	}
	_, err := tx.Exec(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
		ask AS MATERIALIZED (
			SELECT a.*, r.state, coalesce(r.next_at, now.at) AS next_at, r.phase, r.reason, nullif(r.provider_id, '') AS provider_id, r.unsure, r.attempt,
				jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('phase', r.phase, 'at', `+stampSQL("now.at")+`, 'reason', nullif(r.reason, '')))) AS entry
			FROM now, `+draftsSQL+`
			JOIN unnest($11::text[], $12::timestamptz[], $13::text[], $14::text[], $15::text[], $16::int[], $17::bool[])
				WITH ORDINALITY AS r (state, next_at, phase, reason, provider_id, attempt, unsure, i) ON r.i = a.i),
		put AS (
			INSERT INTO deliveries AS d (day, key, fan_no, kind, ref, item, lane, channel, address_ref, state, next_at, attempts, unsure, provider_id, phase, phases, created_at)
			SELECT a.day, a.key, a.fan_no, a.kind, a.ref, a.item, a.lane, a.channel, a.address_ref, a.state, a.next_at, a.attempt, a.unsure, a.provider_id,
				a.phase, a.entry, now.at
			FROM ask a, now ORDER BY a.key
			ON CONFLICT (day, key) DO UPDATE SET state = excluded.state, next_at = excluded.next_at,
				unsure = excluded.state <> 'sent' AND (excluded.unsure OR d.unsure OR d.state = 'leased' AND d.attempts <> excluded.attempts),
				provider_id = coalesce(excluded.provider_id, d.provider_id), phase = excluded.phase,
				phases = CASE WHEN d.phase = excluded.phase OR excluded.state = 'waiting' AND jsonb_array_length(d.phases) >= $18
					THEN d.phases ELSE d.phases || excluded.phases END
			WHERE `+putSQL+`
			RETURNING d.*)`+
		// A phase that it was in already is no news.
		deliveryEvents(`(SELECT p.*, a.reason FROM put p JOIN ask a ON a.day = p.day AND a.key = p.key WHERE p.phases->-1 = a.entry->0)`,
			"x.phase", "x.reason"),
		append(draftArgs(drafts), states, nexts, phases, reasons, providers, attempts, unsure, phasesMost)...)
	return err
}

// Deduplicated records in the stream that deliveries were asked for again.
func (s *Store) Deduplicated(ctx context.Context, drafts []delivery.Draft) error {
	_, err := s.pool.Exec(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at), ask AS (SELECT a.* FROM `+draftsSQL+`)`+
		deliveryEvents("ask", "'deduplicated'", "''"), draftArgs(drafts)...)
	return err
}

// Dispatch stores a plan: what needs no send, the sends, and the later steps of
// messages.
func (s *Store) Dispatch(ctx context.Context, p *delivery.Planned) error {
	var jobs []river.InsertManyParams
	for i := range p.Sends {
		jobs = append(jobs, notifier.SendJobs(p.Sends[i])...)
	}
	if len(p.Through) > 0 {
		if err := s.EraseMessageTexts(ctx, p.Through); err != nil {
			return err
		}
	}
	if len(jobs) == 0 && len(p.Results) == 0 && len(p.Later) == 0 {
		return nil
	}
	return s.inTx(ctx, "store a plan", func(tx pgx.Tx) error {
		if err := put(ctx, tx, p.Results); err != nil {
			return err
		}
		if err := alertMessages(ctx, tx, p.Later); err != nil {
			return err
		}
		return s.queue(ctx, tx, jobs)
	})
}
