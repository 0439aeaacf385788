package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// A strategy's part in the transaction of a decision: what it writes for a wave.
// The rest of a strategy, which acts after the commit, is in fanout.
var inDecision = map[waitlist.Strategy]func(b *pgx.Batch, w *waitlist.PlannedWave){
	waitlist.Write: queueInboxRows,
	waitlist.Read:  func(*pgx.Batch, *waitlist.PlannedWave) {},
}

// wavesAtOnce is how many waves go to the database in one round trip.
const wavesAtOnce = 200

// write stores waves, their members, their strategies' parts, their marks and
// their events. A show may have a thousand openings: none has a trip of its own.
func (d *decision) write(ctx context.Context, waves []waitlist.PlannedWave) error {
	var events []event
	for some := range slices.Chunk(waves, wavesAtOnce) {
		batch := &pgx.Batch{}
		for i := range some {
			stale(d.tx, openingKey(d.made.ShowNo, some[i].Opening.ID))
			d.queue(batch, &some[i])
			if some[i].Wave.Size > 0 {
				events = append(events, d.known(&some[i]))
			}
		}
		if err := d.tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
	}
	if len(events) > 0 {
		stale(d.tx, newsKey(d.made.ShowNo))
	}
	return d.s.record(ctx, d.tx, events...)
}

// known notes a wave for those who bring it to its fans, and returns its event.
func (d *decision) known(p *waitlist.PlannedWave) event {
	fans := make([]int64, len(p.Members))
	for i := range p.Members {
		fans[i] = p.Members[i].FanNo
	}
	d.made.Waves = append(d.made.Waves, waitlist.DecidedWave{
		OpeningNo: p.Wave.OpeningNo, Strategy: p.Opening.Strategy, N: p.Wave.N, Fans: fans,
	})
	return event{
		Type: notifier.OpeningWave, At: d.sit.Now, ShowNo: d.made.ShowNo, OpeningNo: p.Wave.OpeningNo, N: p.Wave.N, Live: true,
		Data: map[string]any{"size": p.Wave.Size, "strategy": p.Opening.Strategy},
	}
}

func (d *decision) queue(b *pgx.Batch, p *waitlist.PlannedWave) {
	d.queueWave(b, p)
	queueMarks(b, p)
	if p.Wave.Size > 0 {
		d.queueMembers(b, p)
		inDecision[p.Opening.Strategy](b, p)
		queueAlerts(b, &p.Wave)
	}
}

// queueWave stores the wave, over the one before it when that was of nobody and
// this one is too.
func (d *decision) queueWave(b *pgx.Batch, p *waitlist.PlannedWave) {
	w := &p.Wave
	var last *time.Time
	if w.Size > 0 {
		t := w.LastCloses()
		last = &t
	}
	b.Queue(`
		INSERT INTO waves (opening_no, n, show_no, decision, decided_at, opens_at, rate, window_s, close_cap,
			size, free, demand, walked_to, last_closes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (opening_no, n) DO UPDATE SET decision = excluded.decision, decided_at = excluded.decided_at,
			opens_at = excluded.opens_at, rate = excluded.rate, close_cap = excluded.close_cap,
			free = excluded.free, demand = excluded.demand, walked_to = excluded.walked_to`,
		w.OpeningNo, w.N, d.made.ShowNo, w.Decision, w.DecidedAt, w.OpensAt, w.Rate, int(w.Window/time.Second), w.CloseCap,
		w.Size, w.Free, w.Demand, w.WalkedTo, last)
	if w.Size == 0 && w.N == p.Opening.Opening.Waves && slices.Equal(p.Given, p.Opening.Given) {
		return // rewritten: the opening's row says so already
	}
	b.Queue(`UPDATE openings SET waves = $2, last_empty = $3, given = $4 WHERE opening_no = $1`,
		w.OpeningNo, w.N, w.Size == 0, append([]int64{}, p.Given...))
}

func (d *decision) queueMembers(b *pgx.Batch, p *waitlist.PlannedWave) {
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
	for _, c := range order {
		r := chunks[c]
		stale(d.tx, chunkKey(d.made.ShowNo, c))
		b.Queue(`
			INSERT INTO wave_members (show_no, chunk, opening_no, n, enos, fans, ks, parties, places, given)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			d.made.ShowNo, c, p.Wave.OpeningNo, p.Wave.N, r.enos, r.fans, r.ks, r.parties, r.places, r.given)
	}
}

// queueInboxRows is strategy write: a row a fan, all in one statement, from the
// members just stored. The turn's moment is the same integers as Wave.Opens.
func queueInboxRows(b *pgx.Batch, p *waitlist.PlannedWave) {
	b.Queue(`
		INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, n, k, seats)
		SELECT t.fan, 'turn', w.opening_no, `+turnOpens("t.k")+`, w.show_no, t.eno, w.n, t.k, t.party
		FROM waves w JOIN wave_members m USING (opening_no, n)
		CROSS JOIN LATERAL unnest(m.enos, m.fans, m.ks, m.parties) AS t (eno, fan, k, party)
		WHERE w.opening_no = $1 AND w.n = $2`, p.Wave.OpeningNo, p.Wave.N)
}

func queueMarks(b *pgx.Batch, p *waitlist.PlannedWave) {
	if len(p.Marks) == 0 {
		return
	}
	var tiers []string
	var parties []int16
	var places []int64
	for _, m := range p.Marks {
		tiers, parties, places = append(tiers, m.Tier), append(parties, int16(m.Party)), append(places, m.Place)
	}
	b.Queue(`
		INSERT INTO marks (opening_no, tier, party, place, decision)
		SELECT $1, tier, party, place, $2 FROM unnest($3::text[], $4::smallint[], $5::bigint[]) m (tier, party, place)
		ON CONFLICT (opening_no, tier, party) DO UPDATE SET place = excluded.place, decision = excluded.decision`,
		p.Wave.OpeningNo, p.Wave.Decision, tiers, parties, places)
}
