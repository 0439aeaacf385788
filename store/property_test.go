package store_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fanline/notifier"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// TestTheLineKeepsItsRules plays a whole show at random, in the database and in
// the model beside it, and compares all that anybody can see. -rapid.checks asks
// for more shows than the default, -rapid.steps for longer ones.
func TestTheLineKeepsItsRules(t *testing.T) {
	t.Parallel()
	byDefault("rapid.checks", "40")
	byDefault("rapid.steps", "40")
	keepsItsRules(t, newStopped(t), 1<<30)
}

// TestTheLineKeepsItsRulesThroughACache has what is read come through the cache,
// which forgets all when the test lets time pass and else only what writes make
// stale. Ten shows will do.
func TestTheLineKeepsItsRulesThroughACache(t *testing.T) {
	t.Parallel()
	byDefault("rapid.checks", "40")
	byDefault("rapid.steps", "40")
	b := newStopped(t)
	b.cache = b.cachedBy(storetest.Redis(t), stoppedClock{b})
	keepsItsRules(t, b, 10)
}

// stoppedClock is the clock of a stopped bench.
type stoppedClock struct{ b *bench }

func (c stoppedClock) Now() time.Time { return c.b.time() }

func keepsItsRules(t *testing.T, b *bench, most int) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > most {
			return
		}
		p := newPlay(rt, b, fmt.Sprintf("show%d", n))
		rt.Repeat(map[string]func(*rapid.T){"": p.check, "act": p.act})
		p.rest(rt)
		p.checkAll(rt)
		p.checkReturned(rt)
	})
}

// act does one thing of those that can be done now, the usual ones more often.
func (p *play) act(t *rapid.T) {
	sometimes := func(when bool, n int) int {
		if when {
			return n
		}
		return 0
	}
	openings, open, claims := len(p.openings) > 0, len(p.openTurns()) > 0, len(p.allClaims()) > 0
	var acts []func(*rapid.T)
	for _, a := range []struct {
		n   int
		act func(*rapid.T)
	}{
		{3, p.join},
		{2, p.leave},
		{2, p.change},
		{3, p.move},
		{2, p.wake},
		{sometimes(len(p.openings) < 8, 6), p.record},
		{sometimes(openings, 1), p.recordAgain},
		{sometimes(openings, 1), p.cancel},
		{sometimes(openings, 2), p.give},
		{sometimes(open, 6), p.decline},
		{sometimes(open, 6), p.claim},
		{sometimes(openings, 1), p.claimAny},
		{sometimes(claims, 3), p.confirm},
		{sometimes(claims, 3), p.release},
		{sometimes(claims, 1), p.extend},
		{2, p.pause},
		{sometimes(len(p.openings) > 2, 1), p.closeSales},
		{2, p.read},
		{sometimes(len(p.announcements) < 12, 2), p.announce},
		{6, p.pass},
		{6, p.passToDue},
		{2, p.decideNow},
	} {
		for range a.n {
			acts = append(acts, a.act)
		}
	}
	acts[rapid.IntRange(0, len(acts)-1).Draw(t, "act")](t)
}

// byDefault sets a flag that the caller did not set.
func byDefault(name, value string) {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	if !set {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// play is one random show.
type play struct {
	*model
	b    *bench
	show string
	no   int32
	fans []string
	ids  int // openings named so far
	// final are the verdicts of final openings as they were first seen.
	final map[string]string
}

func newPlay(t *rapid.T, b *bench, show string) *play {
	policy := waitlist.DefaultPolicy()
	policy.Mode = rapid.SampledFrom([]waitlist.Mode{waitlist.ModeTurns, waitlist.ModeTurns, waitlist.ModeEveryone}).Draw(t, "mode")
	policy.Strategy = rapid.SampledFrom([]waitlist.Strategy{waitlist.Write, waitlist.Read}).Draw(t, "strategy")
	policy.ReleasePerS = rapid.SampledFrom([]waitlist.Milli{10_000_000, 10_000_000, 10_000_000, 2000, 500}).Draw(t, "rate")
	policy.FansPerSeat = rapid.SampledFrom([]waitlist.Milli{1000, 1500, 2000}).Draw(t, "fans_per_seat")
	policy.ClaimWindowS, policy.HoldS, policy.MaxMissed = 60, 40, 2
	p := &play{
		model: &model{now: morning.Add(400 * time.Microsecond), close: morning.Add(24 * time.Hour), policy: policy},
		b:     b, show: show, final: map[string]string{},
	}
	for i := range 9 {
		p.fans = append(p.fans, string(rune('a'+i)))
	}
	b.at(p.now)
	s := b.show(show, waitlist.PolicyChange{
		Mode: waitlist.Some(policy.Mode), Strategy: waitlist.Some(policy.Strategy), ReleasePerS: waitlist.Some(policy.ReleasePerS),
		FansPerSeat: waitlist.Some(policy.FansPerSeat), ClaimWindowS: waitlist.Some(60), HoldS: waitlist.Some(40), MaxMissed: waitlist.Some(2),
	})
	p.no = s.No
	for _, fan := range p.fans[:rapid.IntRange(0, 8).Draw(t, "joined")] {
		p.joinAs(t, fan)
	}
	return p
}

// want compares how a call was answered with the model's answer.
func (p *play) want(t *rapid.T, what string, err error, want waitlist.Code) {
	t.Helper()
	if got := waitlist.CodeOf(err); got != want || err != nil && got == ok {
		t.Fatalf("%s: %v, want code %q", what, err, want)
	}
}

// acted ends an act: the clock moves on a little, as no two come at one moment.
func (p *play) acted(t *rapid.T) {
	p.perhapsRest(t)
	p.now = p.now.Add(10 * time.Microsecond)
	p.b.at(p.now)
}

// perhapsRest decides, mostly, so that acts also pile up between decisions.
func (p *play) perhapsRest(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "rest") < 7 {
		p.rest(t)
	}
}

// rest decides as long as something is due. Then another decision finds nothing to
// do: nothing is forgotten.
func (p *play) rest(t *rapid.T) {
	for range 100 {
		var due bool
		if err := p.b.store.Pool().QueryRow(t.Context(),
			`SELECT EXISTS (SELECT FROM due WHERE show_no = $1 AND at <= clock_timestamp())`, p.no).Scan(&due); err != nil {
			t.Fatal(err)
		}
		if !due {
			p.b.exec(`INSERT INTO due VALUES ($1, $2)`, p.no, p.now)
			if made := p.decideOnce(t); len(made) > 0 && !p.closedJustNow() {
				t.Fatalf("nothing was due, but a decision made: %v", made)
			}
			return
		}
		p.decideOnce(t)
	}
	t.Fatalf("decisions do not come to rest")
}

// closedJustNow: a turn closed whose decision may wait for a round moment.
func (p *play) closedJustNow() bool {
	for _, o := range p.openings {
		for _, turn := range o.turns {
			if ago := p.now.Sub(turn.closes); ago >= 0 && ago < 50*time.Millisecond {
				return true
			}
		}
	}
	return false
}

// decideOnce decides whether something is due or not: at rest it must change
// nothing, which shows that nothing was left without a due row.
func (p *play) decideOnce(t *rapid.T) []string {
	p.b.exec(`INSERT INTO due (show_no, at) VALUES ($1, 'epoch')`, p.no)
	if _, err := p.b.store.DecideShow(t.Context(), p.no); err != nil {
		t.Fatalf("decide: %v", err)
	}
	made := p.decide()
	p.checkTurns(t)
	return made
}

// id is a fan's in the database, where other shows have theirs. The model's names
// are the same in every show, so that a failing one can be made smaller.
func (p *play) id(fan string) string { return p.show + "-" + fan }

// short is an answer with the model's names.
func (p *play) short(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, p.show+"-", ""), p.show, "s")
}

func (p *play) fan(t *rapid.T) string { return rapid.SampledFrom(p.fans).Draw(t, "fan") }

func (p *play) anyOpening(t *rapid.T) *mOpening {
	return p.openings[rapid.IntRange(0, len(p.openings)-1).Draw(t, "opening")]
}

func (p *play) ref(o *mOpening) waitlist.OpeningRef {
	return waitlist.OpeningRef{ShowID: p.show, OpeningID: o.id}
}

// aTurn is a fan's at an opening.
type aTurn struct {
	o   *mOpening
	fan string
}

func (p *play) openTurns() (open []aTurn) {
	for _, o := range p.openings {
		for _, fan := range p.fans {
			if x := o.turns[fan]; x != nil && p.phase(o, x) == waitlist.PhaseOpen {
				open = append(open, aTurn{o, fan})
			}
		}
	}
	return open
}

func (p *play) openTurn(t *rapid.T) (o *mOpening, fan string) {
	open := p.openTurns()
	x := open[rapid.IntRange(0, len(open)-1).Draw(t, "turn")]
	return x.o, x.fan
}

func (p *play) allClaims() (all []aTurn) {
	for _, o := range p.openings {
		for _, fan := range p.fans {
			if o.claims[fan] != nil {
				all = append(all, aTurn{o, fan})
			}
		}
	}
	return all
}

// claimOf draws a claim, mostly one that is held.
func (p *play) claimOf(t *rapid.T) (o *mOpening, fan string, c *mClaim) {
	from := p.allClaims()
	held := slices.DeleteFunc(slices.Clone(from), func(x aTurn) bool {
		c := x.o.claims[x.fan]
		return c.state != waitlist.ClaimHeld || !c.stands(p.now)
	})
	if len(held) > 0 && rapid.IntRange(0, 9).Draw(t, "a held one") < 9 {
		from = held
	}
	x := from[rapid.IntRange(0, len(from)-1).Draw(t, "claim")]
	return x.o, x.fan, x.o.claims[x.fan]
}

func (p *play) party(t *rapid.T) int {
	return rapid.SampledFrom([]int{1, 1, 1, 1, 1, 2, 2, 3, 4}).Draw(t, "party")
}

func (p *play) tier(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "A", "B"}).Draw(t, "tier")
}

func (p *play) joinAs(t *rapid.T, fan string) {
	j := waitlist.Join{FanID: fan, Party: p.party(t), Tier: p.tier(t)}
	named := j
	named.FanID = p.id(j.FanID)
	_, isNew, err := p.b.Join(t.Context(), p.show, named)
	p.want(t, "join", err, ok)
	if want := p.model.join(j); isNew != want {
		t.Fatalf("join of %s: new %v, want %v", j.FanID, isNew, want)
	}
}

func (p *play) join(t *rapid.T) {
	p.joinAs(t, p.fan(t))
	p.acted(t)
}

func (p *play) leave(t *rapid.T) {
	fan := p.fan(t)
	if rapid.Bool().Draw(t, "removed") {
		p.want(t, "remove", p.b.Remove(t.Context(), p.show, p.id(fan), "no show"), ok)
		p.model.leave(fan, waitlist.Removed)
	} else {
		p.want(t, "leave", p.b.Leave(t.Context(), p.show, p.id(fan)), ok)
		p.model.leave(fan, waitlist.Left)
	}
	p.acted(t)
}

func (p *play) change(t *rapid.T) {
	fan, party, tier := p.fan(t), p.party(t), p.tier(t)
	c := waitlist.EntryChange{Party: &party, Tier: &tier}
	_, err := p.b.ChangeEntry(t.Context(), p.show, p.id(fan), c)
	p.want(t, "change "+fan, err, p.model.change(fan, c))
	p.acted(t)
}

func (p *play) move(t *rapid.T) {
	c := waitlist.EntryChange{Reason: "it rained"}
	c.Move = rapid.SampledFrom([]waitlist.Move{waitlist.MoveFront, waitlist.MoveRestore}).Draw(t, "move")
	fan := p.fan(t)
	_, err := p.b.ChangeEntry(t.Context(), p.show, p.id(fan), c)
	p.want(t, "move "+fan, err, p.model.change(fan, c))
	p.acted(t)
}

func (p *play) wake(t *rapid.T) {
	fan := p.fan(t)
	p.want(t, "wake", p.b.Wake(t.Context(), p.id(fan)), ok)
	p.model.wake(fan)
	p.acted(t)
}

func (p *play) newOpening(t *rapid.T) waitlist.NewOpening {
	p.ids++
	n := waitlist.NewOpening{ID: fmt.Sprintf("o%d", p.ids), Tier: p.tier(t), Reason: "returned"}
	if rapid.Bool().Draw(t, "labelled") {
		row := []string{"A1", "A2", "A3", "A4", "A5", "A6", "A7"}
		from := rapid.IntRange(0, len(row)-1).Draw(t, "from")
		n.Seats = row[from:rapid.IntRange(from+1, min(len(row), from+5)).Draw(t, "to")]
		n.Adjacent = rapid.Bool().Draw(t, "adjacent")
	} else {
		n.Quantity = rapid.IntRange(1, 5).Draw(t, "quantity")
	}
	if rapid.Bool().Draw(t, "own policy") {
		mode := rapid.SampledFrom([]waitlist.Mode{waitlist.ModeTurns, waitlist.ModeEveryone}).Draw(t, "mode")
		strategy := rapid.SampledFrom([]waitlist.Strategy{waitlist.Write, waitlist.Read}).Draw(t, "strategy")
		perSeat := rapid.SampledFrom([]waitlist.Milli{1000, 1500, 2000}).Draw(t, "fans_per_seat")
		window := rapid.SampledFrom([]int{1, 60, 90}).Draw(t, "window")
		n.Policy = waitlist.OpeningPolicy{Mode: &mode, Strategy: &strategy, FansPerSeat: &perSeat, ClaimWindowS: &window}
	}
	return n
}

func (p *play) record(t *rapid.T) {
	n := p.newOpening(t)
	o, created, err := p.b.Record(t.Context(), p.show, n)
	want := p.model.record(n)
	p.want(t, "record", err, want)
	if want == ok {
		p.openings[len(p.openings)-1].no = o.No
		if !created {
			t.Fatalf("%s was not created", n.ID)
		}
	}
	p.acted(t)
}

// recordAgain reports an opening's id with another body.
func (p *play) recordAgain(t *rapid.T) {
	o := p.anyOpening(t)
	_, _, err := p.b.Record(t.Context(), p.show, waitlist.NewOpening{ID: o.id, Quantity: 77, Reason: "returned"})
	p.want(t, "record again", err, waitlist.Conflict)
	p.acted(t)
}

func (p *play) cancel(t *rapid.T) {
	o := p.anyOpening(t)
	err := p.b.CancelOpening(t.Context(), p.ref(o))
	p.want(t, "cancel "+o.id, err, p.model.cancel(o))
	p.acted(t)
}

func (p *play) give(t *rapid.T) {
	o, fan := p.anyOpening(t), p.fan(t)
	err := p.b.GiveTurn(t.Context(), p.ref(o), p.id(fan), "a wheelchair user")
	p.want(t, "give "+fan, err, p.model.give(o, fan))
	p.acted(t)
}

func (p *play) decline(t *rapid.T) {
	o, fan := p.openTurn(t)
	if rapid.IntRange(0, 9).Draw(t, "any") == 0 {
		o, fan = p.anyOpening(t), p.fan(t)
	}
	err := p.b.Decline(t.Context(), p.ref(o), p.id(fan))
	p.want(t, "decline of "+fan+" at "+o.id, err, p.model.decline(o, fan))
	p.acted(t)
}

func (p *play) claim(t *rapid.T) {
	o, fan := p.openTurn(t)
	p.claimAt(t, o, fan)
}

// claimAny is mostly refused.
func (p *play) claimAny(t *rapid.T) { p.claimAt(t, p.anyOpening(t), p.fan(t)) }

func (p *play) claimAt(t *rapid.T, o *mOpening, fan string) {
	got, isNew, err := p.b.Claim(t.Context(), p.ref(o), p.id(fan))
	c, wantNew, code := p.model.claim(o, fan)
	p.want(t, "claim of "+fan+" at "+o.id, err, code)
	if code == ok {
		if isNew {
			c.id = got.ID
		}
		if isNew != wantNew || got.ID != c.id || got.Seats != c.seats || !slices.Equal(got.Labels, c.labels) || !got.ExpiresAt.Equal(c.expiry) {
			t.Fatalf("claim of %s at %s: new %v, %v until %v, want new %v %+v", fan, o.id, isNew, got.Labels, got.ExpiresAt, wantNew, c)
		}
	}
	p.acted(t)
}

func (p *play) confirm(t *rapid.T) {
	o, fan, c := p.claimOf(t)
	_, err := p.b.Confirm(t.Context(), c.id)
	p.want(t, "confirm "+fan, err, p.settle(o, fan, waitlist.ClaimConfirmed))
	p.acted(t)
}

func (p *play) release(t *rapid.T) {
	o, fan, c := p.claimOf(t)
	_, err := p.b.Release(t.Context(), c.id, "changed my mind")
	p.want(t, "release "+fan, err, p.settle(o, fan, waitlist.ClaimReleased))
	p.acted(t)
}

func (p *play) extend(t *rapid.T) {
	o, fan, c := p.claimOf(t)
	by := time.Duration(rapid.SampledFrom([]int{1, 20, 40, 41}).Draw(t, "by")) * time.Second
	_, err := p.b.Extend(t.Context(), c.id, by)
	p.want(t, "extend "+fan, err, p.model.extend(o, fan, by))
	p.acted(t)
}

func (p *play) pause(t *rapid.T) {
	on := rapid.IntRange(0, 3).Draw(t, "on") == 0
	if rapid.Bool().Draw(t, "staff") {
		p.want(t, "pause", p.b.Pause(t.Context(), p.show, on), ok)
		p.pausedStaff = on
	} else {
		_, _, err := p.b.PutShow(t.Context(), p.show, waitlist.ShowChange{Paused: waitlist.Some(on)})
		p.want(t, "pause", err, ok)
		p.pausedApp = on
	}
	p.acted(t)
}

// closeSales comes seldom, since little happens afterwards.
func (p *play) closeSales(t *rapid.T) {
	at := p.now.Truncate(time.Millisecond).Add(time.Duration(rapid.SampledFrom([]int{-1000, 0, 1, 30_000, 90_000, 3_600_000}).Draw(t, "in ms")) * time.Millisecond)
	_, _, err := p.b.PutShow(t.Context(), p.show, waitlist.ShowChange{SalesCloseAt: waitlist.Some(&at)})
	p.want(t, "close sales", err, ok)
	p.model.closeSales(at)
	p.acted(t)
}

// read marks an item, or all so far, and is an act of its own only over the API.
func (p *play) read(t *rapid.T) {
	fan := p.fan(t)
	e := p.entry(fan)
	if e == nil || len(p.openings)+len(p.announcements) == 0 {
		return
	}
	items := p.items(e)
	if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
		_, err := p.b.store.MarkAllRead(t.Context(), p.id(fan), p.now)
		p.want(t, "mark all read", err, ok)
		e.readBefore = p.now
		return
	}
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom(p.itemIDs()), 1, 2, rapid.ID).Draw(t, "ids")
	long := make([]string, len(ids))
	for i, id := range ids {
		long[i] = strings.Replace(id, ":s:", ":"+p.show+":", 1)
	}
	_, err := p.b.store.MarkRead(t.Context(), p.id(fan), long)
	p.want(t, "mark read", err, ok)
	for _, id := range ids {
		if _, exists := items[id]; exists {
			e.read[id] = true
		}
	}
}

// itemIDs are those of the items that there may be.
func (p *play) itemIDs() (ids []string) {
	for _, o := range p.openings {
		ids = append(ids, notifier.TurnID("s", o.id), notifier.ResultID("s", o.id))
	}
	for _, a := range p.announcements {
		ids = append(ids, notifier.AnnouncementID("s", a.id))
	}
	return ids
}

// announce makes two announcements at one moment, one under each strategy, which
// belong to the same fans. Openings recorded later have the strategy of the second.
func (p *play) announce(t *rapid.T) {
	for _, strategy := range rapid.Permutation([]waitlist.Strategy{waitlist.Write, waitlist.Read}).Draw(t, "strategies") {
		_, _, err := p.b.PutShow(t.Context(), p.show, waitlist.ShowChange{
			Policy: waitlist.Some(waitlist.PolicyChange{Strategy: waitlist.Some(strategy)}),
		})
		p.want(t, "change the strategy", err, ok)
		id := fmt.Sprintf("a%d", len(p.announcements))
		a, created, err := p.b.store.Announce(t.Context(), p.show, waitlist.NewAnnouncement{ID: id, Title: "T", Body: "B"})
		p.want(t, "announce", err, ok)
		if a.Strategy != strategy || !created {
			t.Fatalf("announcement %s has strategy %s, want %s; created: %t", id, a.Strategy, strategy, created)
		}
		p.model.announce(id)
	}
	p.acted(t)
}

func (p *play) pass(t *rapid.T) {
	ms := rapid.SampledFrom([]int{1, 3, 60, 1000, 2500, 20_000, 39_999, 40_000, 60_000, 90_000}).Draw(t, "ms")
	p.passBy(t, time.Duration(ms)*time.Millisecond)
}

// passToDue goes to the very moment at which a turn closes or opens or a hold
// ends, or to the millisecond before.
func (p *play) passToDue(t *rapid.T) {
	var ats []time.Time
	for _, o := range p.openings {
		for _, fan := range p.fans {
			if x := o.turns[fan]; x != nil {
				ats = append(ats, x.opens, x.closes)
			}
			if c := o.claims[fan]; c != nil {
				ats = append(ats, c.expiry)
			}
		}
	}
	ats = slices.DeleteFunc(append(ats, p.close), func(at time.Time) bool { return !at.After(p.now) || at.Sub(p.now) > time.Hour })
	if len(ats) == 0 {
		p.pass(t)
		return
	}
	d := slices.MinFunc(ats, time.Time.Compare).Sub(p.now)
	if early := rapid.Bool().Draw(t, "a millisecond early"); early && d > time.Millisecond {
		d -= time.Millisecond
	}
	p.passBy(t, d)
}

func (p *play) passBy(t *rapid.T, d time.Duration) {
	p.now = p.now.Add(d)
	p.b.at(p.now)
	p.perhapsRest(t)
}

func (p *play) decideNow(t *rapid.T) {
	p.b.exec(`INSERT INTO due VALUES ($1, $2)`, p.no, p.now)
	p.decideOnce(t)
}
