package store

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

const claimColumns = `c.id, c.show_no, c.opening_no, c.eno, c.fan_no, c.seats, c.labels, c.state, c.claimed_at, c.expires_at`

func claimFields(c *waitlist.Claim) []any {
	return []any{&c.ID, &c.ShowNo, &c.OpeningNo, &c.EntryNo, &c.FanNo, &c.Seats, &c.Labels, &c.State, &c.ClaimedAt, &c.ExpiresAt}
}

func scanClaim(row pgx.CollectableRow) (c waitlist.Claim, err error) {
	err = row.Scan(claimFields(&c)...)
	return c, err
}

// Claim serves claims on one opening, in order, in one transaction. The opening's
// row is locked before the entries, so that refusals are exact. The show's number
// is 0 where a claim cannot let anything be decided: of mode everyone, where each
// decision would read the turns of all who were told. Of mode turns it can: a
// larger party whose turn is open may fit no more, and leaves room for others.
func (s *Store) Claim(ctx context.Context, ref waitlist.OpeningRef, batch []waitlist.Take) (claimed []waitlist.Claimed, no int32, err error) {
	err = untilFansStay(func() error {
		claimed, no, err = s.claimOnce(ctx, ref, batch)
		return err
	})
	return claimed, no, err
}

func (s *Store) claimOnce(ctx context.Context, ref waitlist.OpeningRef, batch []waitlist.Take) (claimed []waitlist.Claimed, no int32, err error) {
	onces, fans := make([]*waitlist.Once, len(batch)), make([]string, len(batch))
	for i := range batch {
		onces[i], fans[i] = batch[i].Once, batch[i].FanID
	}
	ks, err := s.keyedOf(ctx, onces)
	if err != nil {
		return nil, 0, err
	}
	var refused []error
	err = s.inTx(ctx, "claim", func(tx pgx.Tx) error {
		if refused, err = openKeys(ctx, tx, ks); err != nil {
			return err
		}
		show, err := showByID(ctx, tx, ref.ShowID)
		if err != nil {
			return err
		}
		if err := lockShared(ctx, tx, show.No); err != nil {
			return err
		}
		o, err := openingByID(ctx, tx, show.No, ref.OpeningID, " FOR UPDATE")
		if err != nil {
			return err
		}
		o.ShowID = ref.ShowID
		if no = 0; o.Mode == waitlist.ModeTurns {
			no = o.ShowNo
		}
		b, err := s.readClaims(ctx, tx, &o, fans)
		if err != nil {
			return err
		}
		b.cancelled = show.Cancelled
		claimed = make([]waitlist.Claimed, len(fans))
		for i, fan := range fans {
			if claimed[i].Err = refused[i]; refused[i] == nil {
				claimed[i] = b.claim(fan)
			}
		}
		if err := b.write(ctx, tx, s); err != nil {
			return err
		}
		return keepClaims(ctx, tx, claimed, refused, ks)
	})
	if err != nil {
		return nil, 0, err
	}
	for i, k := range ks {
		if k != nil && refused[i] == nil {
			k.Keep(k.reply)
		}
	}
	return claimed, no, nil
}

// keepClaims keeps the answers to those claims that have a key and went on, also
// where the line refuses them.
func keepClaims(ctx context.Context, tx pgx.Tx, claimed []waitlist.Claimed, refused []error, ks []*keyed) error {
	went := make([]*keyed, len(ks))
	for i, k := range ks {
		if k == nil || refused[i] != nil {
			continue
		}
		if err := k.answer(claimed[i], claimed[i].Claim.FanNo); err != nil {
			return err
		}
		went[i] = k
	}
	return keepAnswers(ctx, tx, went)
}

// claimBatch is what a batch of claims is decided from, and what it writes.
type claimBatch struct {
	moment
	o         *waitlist.Opening
	cancelled bool
	entries   map[string]*waitlist.Entry
	told      map[int64]*waitlist.Telling
	own       map[int64]*waitlist.Claim
	// What was read of an opening with labels: all seats where they are adjacent,
	// else the lowest free ones, as many as the batch could take.
	nos    []int32
	labels []string
	free   []bool
	unsold []bool // free or held

	won  []waitlist.Claim
	acts []act
	// seats and owners are the labelled seats taken, and by which claim.
	seats  []int32
	owners []string
}

func (s *Store) readClaims(ctx context.Context, tx pgx.Tx, o *waitlist.Opening, fans []string) (*claimBatch, error) {
	b := &claimBatch{o: o, entries: map[string]*waitlist.Entry{}, own: map[int64]*waitlist.Claim{}}
	names, err := namesOf(ctx, tx, o.ShowNo, fans)
	if err != nil {
		return nil, err
	}
	enos := slices.Collect(maps.Keys(names))
	list, err := lockEntries(ctx, tx, o.ShowNo, enos)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].FanID = names[list[i].No]
		b.entries[list[i].FanID] = &list[i]
	}
	if b.moment, err = look(ctx, tx, o.ShowNo); err != nil {
		return nil, err
	}
	if b.told, err = tellingsAt(ctx, tx, o.ShowNo, o.No, enos); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT `+claimColumns+` FROM claims c WHERE c.opening_no = $1 AND c.eno = ANY($2)`, o.No, enos)
	claims, err := all(rows, err, scanClaim)
	if err != nil {
		return nil, err
	}
	for i := range claims {
		b.own[claims[i].EntryNo] = &claims[i]
	}
	return b, b.readSeats(ctx, tx)
}

func (b *claimBatch) readSeats(ctx context.Context, tx pgx.Tx) error {
	sql, args := `SELECT no, label, state = 'free', state IN ('free', 'held') FROM seats WHERE opening_no = $1 ORDER BY no`, []any{b.o.No}
	if !b.o.Adjacent {
		wanted := 0
		for _, e := range b.entries {
			wanted += e.Party
		}
		sql = `SELECT no, label, true, true FROM seats WHERE opening_no = $1 AND state = 'free' ORDER BY no LIMIT $2`
		args = append(args, wanted)
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	var no int32
	var label string
	var free, unsold bool
	_, err = pgx.ForEachRow(rows, []any{&no, &label, &free, &unsold}, func() error {
		b.nos, b.labels, b.free, b.unsold = append(b.nos, no), append(b.labels, label), append(b.free, free), append(b.unsold, unsold)
		return nil
	})
	return err
}

// claim decides one claim and takes its seats.
func (b *claimBatch) claim(fan string) waitlist.Claimed {
	e := b.entries[fan]
	f := waitlist.ClaimFacts{Now: b.now, Opening: b.o, Cancelled: b.cancelled, Entry: e}
	if e != nil {
		own := b.own[e.No]
		if own != nil && (own.State == waitlist.ClaimConfirmed || own.State == waitlist.ClaimHeld && b.now.Before(own.ExpiresAt)) {
			return waitlist.Claimed{Claim: b.named(*own, fan)}
		}
		f.Own, f.Told, f.Fits = own, b.told[e.No], b.fits(e.Party)
		f.Never = b.o.Adjacent && waitlist.Run(b.unsold, e.Party) < 0
	}
	if err := waitlist.CheckClaim(f); err != nil {
		return waitlist.Claimed{Err: err}
	}
	c := waitlist.Claim{
		ID: "clm_" + rand.Text(), ShowNo: b.o.ShowNo, OpeningNo: b.o.No, EntryNo: e.No, FanNo: e.FanNo,
		Seats: e.Party, Labels: []string{}, State: waitlist.ClaimHeld,
		ClaimedAt: b.now, ExpiresAt: b.now.Add(b.o.Hold).Truncate(time.Millisecond),
	}
	b.take(&c)
	t := b.told[e.No]
	b.acts = append(b.acts, act{b.o.No, e.No, e.FanNo, t.N, t.K, waitlist.ActClaimed})
	e.State = waitlist.Holding
	b.o.Free -= e.Party
	b.o.Held += e.Party
	b.own[e.No] = &c
	b.won = append(b.won, c)
	return waitlist.Claimed{Claim: b.named(c, fan), New: true}
}

func (b *claimBatch) named(c waitlist.Claim, fan string) waitlist.Claim {
	c.FanID, c.ShowID, c.OpeningID = fan, b.o.ShowID, b.o.ID
	return c
}

// fits says whether a party's seats are free now.
func (b *claimBatch) fits(party int) bool { return party <= b.largest() }

// largest is the largest party whose seats are free now.
func (b *claimBatch) largest() int {
	if b.o.Adjacent {
		return waitlist.LongestRun(b.free)
	}
	return b.o.Free
}

// take gives a claim its labelled seats: a run of them, or the lowest.
func (b *claimBatch) take(c *waitlist.Claim) {
	if len(b.labels) == 0 {
		return
	}
	from := 0
	if b.o.Adjacent {
		from = waitlist.Run(b.free, c.Seats)
	}
	for i := from; len(c.Labels) < c.Seats; i++ {
		if b.free[i] {
			b.free[i] = false
			c.Labels = append(c.Labels, b.labels[i])
			b.seats, b.owners = append(b.seats, b.nos[i]), append(b.owners, c.ID)
		}
	}
}

func (b *claimBatch) write(ctx context.Context, tx pgx.Tx, s *Store) error {
	if len(b.won) == 0 {
		return nil
	}
	enos := make([]int64, len(b.won))
	events := make([]event, len(b.won))
	moments := []time.Time{b.won[0].ExpiresAt} // the same for all
	for i := range b.won {
		enos[i] = b.won[i].EntryNo
		events[i] = claimEvent(&b.won[i], notifier.ClaimHeld, b.moment)
	}
	if err := insertClaims(ctx, tx, b.won); err != nil {
		return err
	}
	if err := writeActs(ctx, tx, b.o.ShowNo, b.acts, b.moment); err != nil {
		return err
	}
	if err := logEntries(ctx, tx, b.o.ShowNo, enos, b.moment, "claimed", ""); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE entries SET state = 'holding', dormant = false, missed = 0 WHERE show_no = $1 AND eno = ANY($2)`, b.o.ShowNo, enos); err != nil {
		return err
	}
	if err := b.writeSeats(ctx, tx); err != nil {
		return err
	}
	if err := s.record(ctx, tx, events...); err != nil {
		return err
	}
	// With few seats left, the turns of larger parties ask for none of them any
	// more, and others may be told.
	if fits := b.largest(); b.o.Mode == waitlist.ModeTurns && fits > 0 && fits < waitlist.MaxParty {
		moments = append(moments, b.now)
	}
	return due(ctx, tx, b.o.ShowNo, moments...)
}

func (b *claimBatch) writeSeats(ctx context.Context, tx pgx.Tx) error {
	if len(b.seats) > 0 {
		if _, err := tx.Exec(ctx, `
			UPDATE seats s SET state = 'held', claim = t.claim FROM unnest($2::int[], $3::text[]) t (no, claim)
			WHERE s.opening_no = $1 AND s.no = t.no`, b.o.No, b.seats, b.owners); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE openings SET free = $2, held = $3 WHERE opening_no = $1`, b.o.No, b.o.Free, b.o.Held)
	return err
}

func insertClaims(ctx context.Context, tx pgx.Tx, cs []waitlist.Claim) error {
	batch := &pgx.Batch{}
	for i := range cs {
		c := &cs[i]
		staleFans(tx, c.ShowNo, c.FanNo)
		batch.Queue(`
			INSERT INTO claims (id, show_no, opening_no, eno, fan_no, seats, labels, claimed_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			c.ID, c.ShowNo, c.OpeningNo, c.EntryNo, c.FanNo, c.Seats, c.Labels, c.ClaimedAt, c.ExpiresAt)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// claimByID reads a claim with its names. tail may lock it.
func claimByID(ctx context.Context, q querier, id, tail string) (c waitlist.Claim, err error) {
	err = q.QueryRow(ctx, `
		SELECT `+claimColumns+`, s.show_id, o.opening_id, coalesce(f.fan_id, '')
		FROM claims c JOIN shows s USING (show_no) JOIN openings o USING (opening_no) LEFT JOIN fans f USING (fan_no)
		WHERE c.id = $1`+tail, id).
		Scan(append(claimFields(&c), &c.ShowID, &c.OpeningID, &c.FanID)...)
	return c, notFound(err, "claim", id)
}

// ClaimByID returns a claim; one past its expiry reads lapsed.
func (s *Store) ClaimByID(ctx context.Context, id string) (waitlist.Claim, error) {
	c, err := claimByID(ctx, s.pool, id, "")
	if err != nil {
		return c, err
	}
	m, err := look(ctx, s.pool, c.ShowNo)
	if c.State == waitlist.ClaimHeld && !m.now.Before(c.ExpiresAt) {
		c.State = waitlist.ClaimLapsed
	}
	return c, err
}
