package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// A strategy's part in the transaction of a decision: what it writes for a wave.
// The rest of a strategy, which acts after the commit, is in fanout.
var inDecision = map[waitlist.Strategy]func(ctx context.Context, tx pgx.Tx, w *waitlist.PlannedWave) error{
	waitlist.Write: writeInboxRows,
	waitlist.Read:  func(context.Context, pgx.Tx, *waitlist.PlannedWave) error { return nil },
}

// write stores a wave, its members, its strategy's part, its marks and its event.
func (d *decision) write(ctx context.Context, p *waitlist.PlannedWave) error {
	if err := d.writeWave(ctx, p); err != nil {
		return err
	}
	if err := writeMarks(ctx, d.tx, p); err != nil {
		return err
	}
	if p.Wave.Size == 0 {
		return nil
	}
	if err := d.writeMembers(ctx, p); err != nil {
		return err
	}
	if err := inDecision[p.Opening.Strategy](ctx, d.tx, p); err != nil {
		return err
	}
	fans := make([]int64, len(p.Members))
	for i := range p.Members {
		fans[i] = p.Members[i].FanNo
	}
	d.made.Waves = append(d.made.Waves, waitlist.DecidedWave{
		OpeningNo: p.Wave.OpeningNo, Strategy: p.Opening.Strategy, N: p.Wave.N, Fans: fans,
	})
	return d.s.record(ctx, d.tx, event{
		Type: notifier.OpeningWave, At: d.sit.Now, ShowNo: d.made.ShowNo, OpeningNo: p.Wave.OpeningNo, N: p.Wave.N, Live: true,
		Data: map[string]any{"size": p.Wave.Size, "strategy": p.Opening.Strategy},
	})
}

// writeWave stores the wave, over the one before it when that was of nobody and
// this one is too.
func (d *decision) writeWave(ctx context.Context, p *waitlist.PlannedWave) error {
	w := &p.Wave
	var last *time.Time
	if w.Size > 0 {
		t := w.LastCloses()
		last = &t
	}
	if _, err := d.tx.Exec(ctx, `
		INSERT INTO waves (opening_no, n, show_no, decision, decided_at, opens_at, rate, window_s, close_cap,
			size, free, demand, walked_to, last_closes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (opening_no, n) DO UPDATE SET decision = excluded.decision, decided_at = excluded.decided_at,
			opens_at = excluded.opens_at, rate = excluded.rate, close_cap = excluded.close_cap,
			free = excluded.free, demand = excluded.demand, walked_to = excluded.walked_to`,
		w.OpeningNo, w.N, d.made.ShowNo, w.Decision, w.DecidedAt, w.OpensAt, w.Rate, int(w.Window/time.Second), w.CloseCap,
		w.Size, w.Free, w.Demand, w.WalkedTo, last); err != nil {
		return err
	}
	_, err := d.tx.Exec(ctx, `UPDATE openings SET waves = $2, last_empty = $3, given = $4 WHERE opening_no = $1`,
		w.OpeningNo, w.N, w.Size == 0, append([]int64{}, p.Given...))
	return err
}

func (d *decision) writeMembers(ctx context.Context, p *waitlist.PlannedWave) error {
	chunks := map[int64]*memberRow{}
	var order []int64
	for _, m := range p.Members {
		c := m.EntryNo / chunkSize
		if chunks[c] == nil {
			chunks[c] = &memberRow{}
			order = append(order, c)
		}
		chunks[c].add(m)
	}
	batch := &pgx.Batch{}
	for _, c := range order {
		r := chunks[c]
		batch.Queue(`
			INSERT INTO wave_members (show_no, chunk, opening_no, n, enos, fans, ks, parties, places, given)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			d.made.ShowNo, c, p.Wave.OpeningNo, p.Wave.N, r.enos, r.fans, r.ks, r.parties, r.places, r.given)
	}
	return d.tx.SendBatch(ctx, batch).Close()
}

// writeInboxRows is strategy write: a row a fan, all in one statement, from the
// members just stored. The turn's moment is the same integers as Wave.Opens.
func writeInboxRows(ctx context.Context, tx pgx.Tx, p *waitlist.PlannedWave) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, n, k, seats)
		SELECT t.fan, 'turn', w.opening_no, `+turnOpens("t.k")+`, w.show_no, t.eno, w.n, t.k, t.party
		FROM waves w JOIN wave_members m USING (opening_no, n)
		CROSS JOIN LATERAL unnest(m.enos, m.fans, m.ks, m.parties) AS t (eno, fan, k, party)
		WHERE w.opening_no = $1 AND w.n = $2`, p.Wave.OpeningNo, p.Wave.N)
	return err
}

// turnOpens is the SQL of Wave.Opens for a wave w and the turn number k.
func turnOpens(k string) string {
	return `(w.opens_at + ` + k + `::bigint * 1000000 / w.rate * interval '1 millisecond')`
}

// turnCloses is the SQL of Wave.Closes.
func turnCloses(k string) string {
	return `least(` + turnOpens(k) + ` + w.window_s * interval '1 second', w.close_cap)`
}

func writeMarks(ctx context.Context, tx pgx.Tx, p *waitlist.PlannedWave) error {
	if len(p.Marks) == 0 {
		return nil
	}
	var tiers []string
	var parties []int16
	var places []int64
	for _, m := range p.Marks {
		tiers, parties, places = append(tiers, m.Tier), append(parties, int16(m.Party)), append(places, m.Place)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO marks (opening_no, tier, party, place, decision)
		SELECT $1, tier, party, place, $2 FROM unnest($3::text[], $4::smallint[], $5::bigint[]) m (tier, party, place)
		ON CONFLICT (opening_no, tier, party) DO UPDATE SET place = excluded.place, decision = excluded.decision`,
		p.Wave.OpeningNo, p.Wave.Decision, tiers, parties, places)
	return err
}
