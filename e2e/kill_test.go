package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/sim"
)

func TestASeatAnsweredJustBeforeKillNineIsHandedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	n := 2 + 2**rounds
	l := w.newLine(t, n, sim.Policy{})
	// Everybody is at home on B, so that nobody is busy with coming back.
	l.connect(l.fans, w.in[1])
	for i := range n {
		opening := fmt.Sprintf("last-words-%d", i+1)
		// Dead the moment it has answered.
		o, err := w.app.At(0).Free(w.ctx, l.show, opening, sim.Free{Quantity: 1, Reason: "returned"})
		w.in[0].kill()
		check(t, err)
		if !o.Created {
			t.Fatal("the opening was there already")
		}
		answered := time.Now()
		fan, item := l.firstTurn(opening, 5*time.Second)
		if fan != l.fans[i] {
			t.Errorf("%s went to %s, want %s", opening, fan, l.fans[i])
		}
		t.Logf("%s was heard of %v after the kill", opening, item.At.Sub(answered))
		if late := item.At.Sub(answered); late > 2*soon {
			t.Errorf("%s was heard of %v after the kill", opening, late)
		}
		if i+1 < n {
			w.in[0].restart()
		}
	}
	for i := range n {
		opening := fmt.Sprintf("last-words-%d", i+1)
		if told := l.told(opening); !slices.Equal(told, l.fans[i:i+1]) {
			t.Errorf("told of %s were %v, want %s alone", opening, told, l.fans[i])
		}
	}
	l.onceASocket()
}

func TestNobodyIsMissedOrToldTwiceWhenAnInstanceIsKilled(t *testing.T) {
	t.Parallel()
	r := random(t)
	w := newWorld(t, 2)
	for round := range *rounds {
		t.Run(fmt.Sprint(round+1), func(t *testing.T) {
			moment := killMoment{victim: r.IntN(2), opening: 3 + r.IntN(20), after: time.Duration(r.Int64N(30e6)), away: 2 + r.IntN(6)}
			t.Logf("%+v", moment)
			newSale(t, w).play(moment)
		})
	}
}

// killMoment is when an instance dies: some time after an opening was answered, for
// as long as some more take.
type killMoment struct {
	victim, opening int
	after           time.Duration
	away            int
}

const (
	saleOpenings = 30
	saleFans     = 44
)

// sale is thirty openings for forty-four fans who behave in different ways and come back
// when they are cut off.
type sale struct {
	*line

	sold chan struct{} // one a confirmed claim

	mu      sync.Mutex
	ended   bool
	answers sync.WaitGroup       // none begins once it ended
	claims  map[string]sim.Claim // by opening: the one that was confirmed
}

func newSale(t *testing.T, w *world) *sale {
	t.Helper()
	s := &sale{
		line:   w.newLine(t, saleFans, sim.Policy{ClaimWindowS: new(3), HoldS: new(60), MaxMissed: new(2)}),
		claims: map[string]sim.Claim{}, sold: make(chan struct{}, saleOpenings),
	}
	for i, fan := range s.fans {
		cfg := sim.FanConfig{
			BaseURLs: []string{w.in[i%2].base, w.in[1-i%2].base}, Reconnect: true,
			Backoff: sim.Backoff{Base: 50 * time.Millisecond, Cap: 500 * time.Millisecond},
			Options: []sim.Option{patience},
		}
		var f *sim.Fan
		ready := make(chan struct{})
		cfg.OnFrame = func(frame sim.Frame) {
			if frame.Item != nil && !frame.Double && frame.Item.Kind == "turn" {
				s.begin(func() { <-ready; s.answer(i, f, *frame.Item) })
			}
		}
		f = s.connectWith(fan, cfg)
		close(ready)
	}
	return s
}

func (s *sale) begin(answer func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.answers.Go(answer)
	}
}

// end waits for what the fans are doing.
func (s *sale) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.answers.Wait()
}

// answer is what the i-th fan does with a turn.
func (s *sale) answer(i int, f *sim.Fan, item sim.Item) {
	switch i % 11 {
	case 5: // does not look
	case 3:
		if err := f.Decline(s.w.ctx, s.show, item.OpeningID); err != nil && !over(err) {
			s.t.Errorf("%s cannot decline: %v", s.fans[i], err)
		}
	default:
		s.take(i, f, item)
	}
}

// over: a fan who was cut off for long comes too late, which is no fault.
func over(err error) bool {
	code := sim.CodeOf(err)
	return code == "turn_over" || code == "filled" || code == "already_claimed"
}

func (s *sale) take(i int, f *sim.Fan, item sim.Item) {
	claim, err := f.Claim(s.w.ctx, s.show, item.OpeningID)
	if err != nil {
		if !over(err) && s.w.ctx.Err() == nil {
			s.t.Errorf("%s cannot claim: %v", s.fans[i], err)
		}
		return
	}
	// What was answered with success holds.
	claim, err = s.w.patient.Confirm(s.w.ctx, claim.ID)
	if err != nil {
		s.t.Errorf("the claim of %s was answered, and cannot be confirmed: %v", s.fans[i], err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, taken := s.claims[item.OpeningID]; taken {
		if other.ID != claim.ID {
			s.t.Errorf("%s was sold to %s and to %s", item.OpeningID, other.FanID, claim.FanID)
		}
		return
	}
	s.claims[item.OpeningID] = claim
	s.sold <- struct{}{}
}

func (s *sale) play(m killMoment) {
	s.t.Helper()
	start := time.Now()
	for n := 1; n <= saleOpenings; n++ {
		must(s.w.patient.Free(s.w.ctx, s.show, openingOf(n), sim.Free{Quantity: 1, Reason: "returned"}))(s.t)
		switch n {
		case m.opening:
			<-time.After(m.after)
			s.w.in[m.victim].kill()
		case m.opening + m.away:
			s.w.in[m.victim].restart()
		}
	}
	for n := range saleOpenings {
		select {
		case <-s.sold:
		case <-s.w.ctx.Done():
			s.t.Fatalf("%d of %d seats were sold", n, saleOpenings)
		}
	}
	s.end()
	s.t.Logf("all sold after %v", time.Since(start).Round(time.Millisecond))
	s.settled()
}

func openingOf(n int) string { return fmt.Sprintf("seat-%02d", n) }

// settled checks what holds whatever happened.
func (s *sale) settled() {
	s.t.Helper()
	places := s.places()
	inboxes := map[string][]sim.Item{}
	for _, fan := range s.fans {
		inboxes[fan] = s.inbox(fan)
	}
	for n := 1; n <= saleOpenings; n++ {
		s.wantSold(openingOf(n))
		s.wantNobodyMissed(openingOf(n), places, inboxes)
	}
	buyers := map[string]bool{}
	for _, claim := range s.claims {
		if buyers[claim.FanID] {
			s.t.Errorf("%s bought twice", claim.FanID)
		}
		buyers[claim.FanID] = true
	}
	s.onceASocket()
	s.wantAllOnSockets(inboxes)
}

// places are everybody's, as they joined: nobody moves here.
func (s *sale) places() map[string]int64 {
	s.t.Helper()
	places := map[string]int64{}
	for e, err := range s.w.patient.Entries(s.w.ctx, s.show, sim.EntryFilter{}) {
		check(s.t, err)
		places[e.FanID] = e.Place
	}
	return places
}

func (s *sale) wantSold(opening string) {
	s.t.Helper()
	o := s.wantState(opening, "filled", 2*soon)
	if o.SeatsLeft != 0 || o.SeatsHeld != 0 {
		s.t.Errorf("%s is filled and has %d seats left, %d held", opening, o.SeatsLeft, o.SeatsHeld)
	}
	claim := must(s.w.patient.GetClaim(s.w.ctx, s.claims[opening].ID))(s.t)
	if claim.State != "confirmed" || claim.FanID != s.claims[opening].FanID || claim.OpeningID != opening {
		s.t.Errorf("the confirmed claim on %s became %+v", opening, claim)
	}
}

// wantNobodyMissed checks an opening: one buyer, a turn in the verdict of each who
// has the item, and a reason to pass by each who stood before somebody who has.
func (s *sale) wantNobodyMissed(opening string, places map[string]int64, inboxes map[string][]sim.Item) {
	s.t.Helper()
	last, told, bought := int64(-1), 0, 0
	for _, fan := range s.fans {
		if slices.ContainsFunc(inboxes[fan], isTurnOf(opening)) {
			last = max(last, places[fan])
			told++
		}
	}
	for _, fan := range s.fans {
		if places[fan] > last {
			continue
		}
		v := must(s.w.patient.Verdict(s.w.ctx, s.show, opening, fan))(s.t)
		has := slices.ContainsFunc(inboxes[fan], isTurnOf(opening))
		if had := !v.OpensAt.IsZero(); had != has {
			s.t.Errorf("%s on %s: the verdict is %s, and an item is there: %v", fan, opening, v.Reason, has)
		}
		if v.Reason == "confirmed" {
			bought++
		}
		if !has && !slices.Contains([]string{"busy", "left", "dormant"}, v.Reason) {
			s.t.Errorf("%s at place %d was passed by on %s, which went on to place %d: %s", fan, places[fan], opening, last, v.Reason)
		}
	}
	if bought != 1 {
		s.t.Errorf("%s was bought by %d fans", opening, bought)
	}
	if o := must(s.w.patient.Opening(s.w.ctx, s.show, opening))(s.t); o.Told != told {
		s.t.Errorf("%s says that %d were told, %d have the item", opening, o.Told, told)
	}
}

// wantAllOnSockets checks that everybody who could hear of an item live, or on
// coming back, did.
func (s *sale) wantAllOnSockets(inboxes map[string][]sim.Item) {
	s.t.Helper()
	for fan, items := range inboxes {
		for _, item := range items {
			got, err := s.on[fan].WaitItem(s.w.ctx, func(i sim.Item) bool { return i.ID == item.ID })
			if errors.Is(err, s.w.ctx.Err()) && err != nil {
				s.t.Fatalf("%s never heard of %s on a socket", fan, item.ID)
			}
			check(s.t, err)
			if !got.OpensAt.Equal(item.OpensAt) {
				s.t.Errorf("%s heard that %s opens at %v, and reads %v", fan, item.ID, got.OpensAt, item.OpensAt)
			}
		}
	}
}
