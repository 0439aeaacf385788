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
	labels    []string // of an opening with labels, by seat
	free      []bool   // by seat
	unsold    []bool   // by seat: free or held

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
	rows, err := tx.Query(ctx, `
		SELECT label, state = 'free', state IN ('free', 'held') FROM seats WHERE opening_no = $1 ORDER BY no`, b.o.No)
	if err != nil {
		return err
	}
	var label string
	var free, unsold bool
	_, err = pgx.ForEachRow(rows, []any{&label, &free, &unsold}, func() error {
		b.labels, b.free, b.unsold = append(b.labels, label), append(b.free, free), append(b.unsold, unsold)
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
	b.acts = append(b.acts, act{b.o.No, e.No, t.N, t.K, waitlist.ActClaimed})
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
			b.seats, b.owners = append(b.seats, int32(i+1)), append(b.owners, c.ID)
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

// withClaim runs f on a claim with its opening and entry locked, in that order.
func (s *Store) withClaim(ctx context.Context, what, id string, f func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error) (c waitlist.Claim, err error) {
	err = s.inTxOnce(ctx, what, func(tx pgx.Tx) (any, int64, error) {
		if c, err = claimByID(ctx, tx, id, ""); err != nil {
			return nil, 0, err
		}
		if err := lockShared(ctx, tx, c.ShowNo); err != nil {
			return nil, 0, err
		}
		o, err := openingByID(ctx, tx, c.ShowNo, c.OpeningID, " FOR UPDATE")
		if err != nil {
			return nil, 0, err
		}
		if _, err := tx.Exec(ctx, `SELECT FROM entries WHERE show_no = $1 AND eno = $2 FOR UPDATE`, c.ShowNo, c.EntryNo); err != nil {
			return nil, 0, err
		}
		if c, err = claimByID(ctx, tx, id, ""); err != nil { // again, under the locks
			return nil, 0, err
		}
		m, err := look(ctx, tx, c.ShowNo)
		if err != nil {
			return nil, 0, err
		}
		if err := f(tx, &c, &o, m); err != nil {
			return nil, 0, err
		}
		if c.FanID == "" { // erased: the answer names nobody
			return c, 0, nil
		}
		return c, c.FanNo, nil
	})
	return c, err
}

// stillHeld refuses what is over. same says that the wish was fulfilled before.
func stillHeld(c *waitlist.Claim, wish waitlist.ClaimState, now time.Time) (same bool, err error) {
	switch {
	case c.State == wish:
		return true, nil
	case c.State == waitlist.ClaimHeld && now.Before(c.ExpiresAt):
		return false, nil
	case c.State == waitlist.ClaimConfirmed:
		return false, waitlist.Refuse(waitlist.Conflict, "the claim is confirmed; report a cancelled purchase as a new opening")
	case c.State == waitlist.ClaimReleased:
		return false, waitlist.Refuse(waitlist.TurnOver, "the claim was released")
	}
	return false, waitlist.Refuse(waitlist.TurnOver, "the hold ended at %s", c.ExpiresAt.UTC().Format(time.RFC3339))
}

// Confirm makes a hold a purchase and ends the fan's other turns in the show.
func (s *Store) Confirm(ctx context.Context, id string) (waitlist.Claim, error) {
	return s.withClaim(ctx, "confirm a claim", id, func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error {
		if same, err := stillHeld(c, waitlist.ClaimConfirmed, m.now); same || err != nil {
			return err
		}
		c.State = waitlist.ClaimConfirmed
		e := waitlist.Entry{ShowNo: c.ShowNo, No: c.EntryNo, FanNo: c.FanNo}
		live, err := liveTurns(ctx, tx, &e, m)
		if err != nil {
			return err
		}
		if err := endTurns(ctx, tx, &e, live, waitlist.ActBought, m); err != nil {
			return err
		}
		if err := setState(ctx, tx, c.ShowNo, []int64{c.EntryNo}, m, waitlist.Bought, "bought", ""); err != nil {
			return err
		}
		if err := endClaims(ctx, tx, []waitlist.Claim{*c}, waitlist.ClaimConfirmed, "", m); err != nil {
			return err
		}
		if err := insertResults(ctx, tx, []waitlist.Claim{*c}, waitlist.ClaimConfirmed, m); err != nil {
			return err
		}
		if err := s.record(ctx, tx, claimEvent(c, notifier.ClaimConfirmed, m)); err != nil {
			return err
		}
		return due(ctx, tx, c.ShowNo, m.now)
	})
}

// Release gives a hold's seats back; the fan keeps the place for later openings.
func (s *Store) Release(ctx context.Context, id, reason string) (waitlist.Claim, error) {
	return s.withClaim(ctx, "release a claim", id, func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error {
		if same, err := stillHeld(c, waitlist.ClaimReleased, m.now); same || err != nil {
			return err
		}
		c.State = waitlist.ClaimReleased
		return s.release(ctx, tx, c, waitlist.Waiting, reason, m)
	})
}

// release ends a hold and leaves its entry in the given state.
func (s *Store) release(ctx context.Context, tx pgx.Tx, c *waitlist.Claim, to waitlist.State, reason string, m moment) error {
	what := "released"
	if to != waitlist.Waiting {
		what = string(to)
	}
	if err := setState(ctx, tx, c.ShowNo, []int64{c.EntryNo}, m, to, what, reason); err != nil {
		return err
	}
	if err := endClaims(ctx, tx, []waitlist.Claim{*c}, waitlist.ClaimReleased, reason, m); err != nil {
		return err
	}
	if err := s.record(ctx, tx, claimEvent(c, notifier.ClaimReleased, m)); err != nil {
		return err
	}
	return due(ctx, tx, c.ShowNo, m.now)
}

// lapse ends a hold past its expiry, and leaves its entry in the given state.
func (s *Store) lapse(ctx context.Context, tx pgx.Tx, c *waitlist.Claim, to waitlist.State, reason string, m moment) error {
	if err := setState(ctx, tx, c.ShowNo, []int64{c.EntryNo}, m, to, string(to), reason); err != nil {
		return err
	}
	lapsed := []waitlist.Claim{*c}
	if err := endClaims(ctx, tx, lapsed, waitlist.ClaimLapsed, "", m); err != nil {
		return err
	}
	if err := insertResults(ctx, tx, lapsed, waitlist.ClaimLapsed, m); err != nil {
		return err
	}
	if err := s.record(ctx, tx, claimEvent(c, notifier.ClaimLapsed, m)); err != nil {
		return err
	}
	return due(ctx, tx, c.ShowNo, m.now)
}

func claimEvent(c *waitlist.Claim, t notifier.EventType, m moment) event {
	return event{
		Type: t, At: m.now, ShowNo: c.ShowNo, OpeningNo: c.OpeningNo, FanNo: c.FanNo, Live: true,
		Data: map[string]any{"claim": c.ID, "seats": c.Seats},
	}
}

// endClaims ends holds: their seats are confirmed, or free again.
func endClaims(ctx context.Context, tx pgx.Tx, cs []waitlist.Claim, to waitlist.ClaimState, reason string, m moment) error {
	ids := make([]string, len(cs))
	openings, seats := make([]int64, len(cs)), make([]int32, len(cs))
	for i := range cs {
		ids[i], openings[i], seats[i] = cs[i].ID, cs[i].OpeningNo, int32(cs[i].Seats)
	}
	seat, column := "free", "free"
	if to == waitlist.ClaimConfirmed {
		seat, column = "confirmed", "confirmed"
	}
	if _, err := tx.Exec(ctx, `
		UPDATE claims SET state = $2, ended_at = $3, reason = $4 WHERE id = ANY($1)`, ids, to, m.now, reason); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		UPDATE openings o SET held = held - t.n, `+column+` = `+column+` + t.n
		FROM (SELECT opening, sum(n) AS n FROM unnest($1::bigint[], $2::int[]) t (opening, n) GROUP BY 1) t
		WHERE o.opening_no = t.opening`, openings, seats); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE seats SET state = $3, claim = CASE WHEN $3 = 'confirmed' THEN claim END
		WHERE opening_no = ANY($1) AND claim = ANY($2) AND state = 'held'`, openings, ids, seat)
	return err
}

// insertResults puts the results of claims into their fans' inboxes.
func insertResults(ctx context.Context, tx pgx.Tx, cs []waitlist.Claim, state waitlist.ClaimState, m moment) error {
	fans, openings, enos := make([]int64, len(cs)), make([]int64, len(cs)), make([]int64, len(cs))
	shows, seats := make([]int32, len(cs)), make([]int32, len(cs))
	for i, c := range cs {
		fans[i], openings[i], enos[i], shows[i], seats[i] = c.FanNo, c.OpeningNo, c.EntryNo, c.ShowNo, int32(c.Seats)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats, state)
		SELECT fan, 'result', opening, $1, show, eno, seats, $2
		FROM unnest($3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::int[]) c (fan, opening, show, eno, seats)
		ON CONFLICT DO NOTHING`, m.now.Truncate(time.Millisecond), string(state), fans, openings, shows, enos, seats)
	return err
}

// Extend lets a hold last longer.
func (s *Store) Extend(ctx context.Context, id string, by time.Duration) (waitlist.Claim, error) {
	return s.withClaim(ctx, "extend a claim", id, func(tx pgx.Tx, c *waitlist.Claim, o *waitlist.Opening, m moment) error {
		if _, err := stillHeld(c, "", m.now); err != nil {
			return err
		}
		at, err := c.ExtendTo(by, o.Hold)
		if err != nil {
			return err
		}
		c.ExpiresAt = at
		if _, err := tx.Exec(ctx, `UPDATE claims SET expires_at = $2 WHERE id = $1`, id, at); err != nil {
			return err
		}
		return due(ctx, tx, c.ShowNo, at)
	})
}
