package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

const (
	chaosShows = 4
	chaosFans  = 30
	chaosFor   = 2 * time.Second
)

// chaos is fans, staff and ticketing app who do anything at any time, in two
// processes with a clock each. Only a rule may refuse them.
type chaos struct {
	*bench
	services []*waitlist.Service
	mu       sync.Mutex
	openings []waitlist.OpeningRef
	claims   []string
}

func TestNothingIsLostWhenAllHappensAtOnce(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, store.Migrate)
	c := &chaos{bench: benchOn(t, url)}
	second := benchOn(t, url)
	policy := waitlist.PolicyChange{
		ReleasePerS: waitlist.Some(waitlist.Milli(200_000)), ClaimWindowS: waitlist.Some(1), HoldS: waitlist.Some(1),
		FansPerSeat: waitlist.Some(waitlist.Milli(1500)), MaxMissed: waitlist.Some(2),
	}
	var shows []int32
	for i := range chaosShows {
		shows = append(shows, c.show(fmt.Sprintf("s%d", i), policy).No)
	}
	var clocks []*waitlist.Clock
	for _, b := range []*bench{c.bench, second} {
		clock := waitlist.NewClock(b.store, slog.New(slog.DiscardHandler), func(*waitlist.Decided) {})
		clock.Start()
		clocks = append(clocks, clock)
		c.services = append(c.services, waitlist.NewService(b.store, clock, func(...int64) {}))
	}
	seen := c.read(t)
	var wg sync.WaitGroup
	until := time.Now().Add(chaosFor)
	for i := range 12 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for time.Now().Before(until) {
				if err := c.act(t.Context(), r, c.services[i%2]); err != nil && waitlist.CodeOf(err) == "" {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range c.services {
		s.Close()
	}
	for _, clock := range clocks {
		clock.Stop()
	}
	c.comeToRest(shows)
	c.checkCounts(t)
	c.checkSeen(t, seen())
	second.store.Close()
	c.checkDeadlocks(t, url)
}

// act is one random request.
func (c *chaos) act(ctx context.Context, r *rand.Rand, s *waitlist.Service) error {
	show, fan := fmt.Sprintf("s%d", r.IntN(chaosShows)), fmt.Sprintf("fan%d", r.IntN(chaosFans))
	switch n := r.IntN(20); {
	case n < 4:
		_, _, err := s.Join(ctx, show, waitlist.Join{FanID: fan, Party: 1 + r.IntN(3), Tier: []string{"", "A"}[r.IntN(2)]})
		return err
	case n < 5:
		return s.Leave(ctx, show, fan)
	case n < 6:
		return s.Wake(ctx, fan)
	case n < 7:
		_, err := s.ChangeEntry(ctx, show, fan, waitlist.EntryChange{Move: waitlist.MoveFront, Reason: "chaos"})
		return err
	case n < 8:
		_, err := s.ChangeEntry(ctx, show, fan, waitlist.EntryChange{Party: ptr(1 + r.IntN(3))})
		return err
	case n < 10:
		return c.record(ctx, r, s, show)
	case n < 14:
		return c.claimAny(ctx, r, s, fan)
	case n < 17:
		return c.endClaim(ctx, r, s)
	}
	ref, ok := c.anyOpening(r)
	switch {
	case !ok:
		return nil
	case r.IntN(10) == 0:
		return s.CancelOpening(ctx, ref)
	case r.IntN(3) == 0:
		return s.GiveTurn(ctx, ref, fan, "chaos")
	}
	return s.Decline(ctx, ref, fan)
}

func (c *chaos) record(ctx context.Context, r *rand.Rand, s *waitlist.Service, show string) error {
	n := waitlist.NewOpening{ID: fmt.Sprintf("o%d", r.IntN(1_000_000)), Tier: []string{"", "A"}[r.IntN(2)], Reason: "returned"}
	mode := []waitlist.Mode{waitlist.ModeTurns, waitlist.ModeEveryone}[r.IntN(2)]
	strategy := []waitlist.Strategy{waitlist.Write, waitlist.Read}[r.IntN(2)]
	n.Policy = waitlist.OpeningPolicy{Mode: &mode, Strategy: &strategy}
	if r.IntN(2) == 0 {
		n.Quantity = 1 + r.IntN(4)
	} else {
		from := r.IntN(10)
		for i := range 1 + r.IntN(4) {
			n.Seats = append(n.Seats, fmt.Sprintf("A-%d", from+i))
		}
		n.Adjacent = r.IntN(2) == 0
	}
	_, created, err := s.Record(ctx, show, n)
	if created {
		c.mu.Lock()
		c.openings = append(c.openings, at(show, n.ID))
		c.mu.Unlock()
	}
	return err
}

// anyOpening is mostly one of the newest.
func (c *chaos) anyOpening(r *rand.Rand) (waitlist.OpeningRef, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.openings) == 0 {
		return waitlist.OpeningRef{}, false
	}
	return c.openings[max(0, len(c.openings)-1-r.IntN(12))], true
}

func (c *chaos) claimAny(ctx context.Context, r *rand.Rand, s *waitlist.Service, fan string) error {
	ref, ok := c.anyOpening(r)
	if !ok {
		return nil
	}
	if told := c.told(ref.ShowID, ref.OpeningID); len(told) > 0 && r.IntN(4) > 0 {
		fan = told[max(0, len(told)-1-r.IntN(3))]
	}
	claim, isNew, err := s.Claim(ctx, ref, fan)
	if isNew {
		c.mu.Lock()
		c.claims = append(c.claims, claim.ID)
		c.mu.Unlock()
	}
	return err
}

func (c *chaos) endClaim(ctx context.Context, r *rand.Rand, s *waitlist.Service) error {
	c.mu.Lock()
	var id string
	if len(c.claims) > 0 {
		id = c.claims[max(0, len(c.claims)-1-r.IntN(8))]
	}
	c.mu.Unlock()
	if id == "" {
		return nil
	}
	var err error
	switch r.IntN(3) {
	case 0:
		_, err = s.Confirm(ctx, id)
	case 1:
		_, err = s.Release(ctx, id, "chaos")
	default:
		_, err = s.Extend(ctx, id, time.Second)
	}
	return err
}

// read looks for news all the while; what it returns ends it, and returns the turns
// that it saw.
func (c *chaos) read(t *testing.T) (end func() map[string]bool) {
	var fans []string
	for i := range chaosFans {
		fans = append(fans, fmt.Sprintf("fan%d", i))
	}
	v := c.viewer(fans...)
	seen := map[string]bool{}
	look := func() {
		for _, n := range v.news() {
			if n.Item != nil {
				seen[v.here[n.FanNo]+" "+n.Item.ID] = true
			}
		}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				look()
			}
		}
	}()
	return func() map[string]bool {
		close(stop)
		<-done
		look()
		return seen
	}
}

// comeToRest decides until every turn and hold has ended.
func (c *chaos) comeToRest(shows []int32) {
	c.t.Helper()
	for c.t.Context().Err() == nil {
		for _, no := range shows {
			_, err := c.store.DecideShow(c.t.Context(), no)
			must(c.t, err)
		}
		if len(c.strings(`SELECT show_no::text FROM due`)) == 0 {
			return
		}
	}
	c.t.Fatal("it does not come to rest")
}

// checkCounts compares what is counted in two ways.
func (c *chaos) checkCounts(t *testing.T) {
	t.Helper()
	for what, sql := range map[string]string{
		"seats of an opening and its claims": `
			SELECT opening_id FROM openings o WHERE
				held <> (SELECT coalesce(sum(seats), 0) FROM claims c WHERE c.opening_no = o.opening_no AND c.state = 'held')
				OR confirmed <> (SELECT coalesce(sum(seats), 0) FROM claims c WHERE c.opening_no = o.opening_no AND c.state = 'confirmed')`,
		"labelled seats and counts": `
			SELECT opening_id FROM openings o WHERE EXISTS (SELECT FROM seats s WHERE s.opening_no = o.opening_no) AND (
				confirmed <> (SELECT count(*) FROM seats s WHERE s.opening_no = o.opening_no AND s.state = 'confirmed')
				OR held <> (SELECT count(*) FROM seats s WHERE s.opening_no = o.opening_no AND s.state = 'held')
				OR free <> (SELECT count(*) FROM seats s WHERE s.opening_no = o.opening_no AND s.state IN ('free', 'returned')))`,
		"parties without all their seats": `
			SELECT id FROM claims c WHERE cardinality(labels) NOT IN (0, seats)`,
		"confirmed claims and seats of their labels": `
			SELECT id FROM claims c WHERE state = 'confirmed' AND cardinality(labels) <>
				(SELECT count(*) FROM seats s WHERE s.opening_no = c.opening_no AND s.claim = c.id AND s.state = 'confirmed')`,
		"entries that hold and holds": `
			SELECT eno::text FROM entries e WHERE (state = 'holding') <>
				EXISTS (SELECT FROM claims c WHERE c.show_no = e.show_no AND c.eno = e.eno AND c.state = 'held')`,
		"entries that bought and purchases": `
			SELECT eno::text FROM entries e WHERE state = 'bought' AND
				NOT EXISTS (SELECT FROM claims c WHERE c.show_no = e.show_no AND c.eno = e.eno AND c.state = 'confirmed')`,
		"fans told twice": `
			SELECT opening_no || ' ' || eno FROM wave_members CROSS JOIN LATERAL unnest(enos) eno
			GROUP BY opening_no, eno HAVING count(*) > 1`,
		"claims without a turn": `
			SELECT id FROM claims c WHERE NOT EXISTS (SELECT FROM turns t
				WHERE t.opening_no = c.opening_no AND t.eno = c.eno AND t.state = 'claimed')`,
		"openings open with nothing due": `
			SELECT opening_id FROM openings WHERE state = 'open' OR NOT handed_back`,
		"seats handed back other than once": `
			SELECT opening_id FROM openings o WHERE (SELECT coalesce(sum((data ->> 'quantity')::int), 0) FROM events e
				WHERE e.opening_no = o.opening_no AND e.type = 'seats.returned') <> o.free`,
		"ends other than one": `
			SELECT opening_id FROM openings o WHERE 1 <> (SELECT count(*) FROM events e
				WHERE e.opening_no = o.opening_no AND e.type IN ('opening.filled', 'opening.exhausted', 'opening.cancelled'))`,
		"lines and their counts": `
			SELECT show_no::text FROM lines l WHERE
				(SELECT count(*) FROM entries e WHERE e.show_no = l.show_no AND state = 'waiting' AND NOT dormant) <>
				(SELECT coalesce(sum(active), 0) FROM (SELECT show_no, active FROM line_blocks UNION ALL SELECT show_no, active FROM line_deltas) d
					WHERE d.show_no = l.show_no)
				OR next_eno - 1 <> (SELECT count(*) FROM entries e WHERE e.show_no = l.show_no)`,
		"turns before their wave's decision": `
			SELECT opening_no::text FROM waves WHERE size > 0 AND opens_at < date_trunc('milliseconds', decided_at)`,
	} {
		if got := c.strings(sql); len(got) > 0 {
			t.Errorf("%s disagree: %v", what, got)
		}
	}
	for i := range chaosShows {
		var position int64
		for _, e := range c.page(fmt.Sprintf("s%d", i), nil, 500) {
			if e.Active() {
				if position++; e.Position != position {
					t.Errorf("%s stands at %d, is shown %d", e.FanID, position, e.Position)
				}
			}
		}
	}
	if got := c.strings(`SELECT type || ' ' || count(*) FROM events GROUP BY type ORDER BY type`); len(got) < 5 {
		t.Errorf("little happened: %v", got)
	} else {
		t.Logf("%v", got)
	}
}

// checkSeen: the news held every turn that opened.
func (c *chaos) checkSeen(t *testing.T, seen map[string]bool) {
	t.Helper()
	told := c.strings(`
		SELECT f.fan_id || ' turn:' || s.show_id || ':' || o.opening_id
		FROM wave_members m JOIN openings o USING (opening_no) JOIN shows s ON s.show_no = o.show_no
		CROSS JOIN LATERAL unnest(m.fans, m.enos) x (fan, eno) JOIN fans f ON f.fan_no = x.fan
		WHERE o.state <> 'cancelled' AND NOT EXISTS (SELECT FROM turns t WHERE t.opening_no = o.opening_no AND t.eno = x.eno
			AND t.state IN ('left', 'bought'))`)
	told = slices.DeleteFunc(told, func(turn string) bool { return seen[turn] })
	if len(told) > 0 {
		t.Errorf("never in the news: %v", told)
	}
}

// checkDeadlocks counts them once the sessions that met them are gone.
func (c *chaos) checkDeadlocks(t *testing.T, url string) {
	t.Helper()
	c.store.Close()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	var n int
	must(t, conn.QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
	if n > 0 {
		t.Errorf("%d deadlocks", n)
	}
}
