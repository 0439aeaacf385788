package store_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/waitlist"
)

// check compares the line and the openings after every step, and all the rest now
// and then.
func (p *play) check(t *rapid.T) {
	p.checkLine(t)
	p.checkOpenings(t)
	p.checkSeats(t)
	if rapid.IntRange(0, 7).Draw(t, "check all") == 0 {
		p.checkAll(t)
	}
}

func (p *play) checkAll(t *rapid.T) {
	p.checkVerdicts(t)
	p.checkItems(t)
	p.checkClaims(t)
	p.checkReports(t)
	p.checkOrder(t)
	p.checkStanding(t)
}

func same(t *rapid.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func (p *play) checkLine(t *rapid.T) {
	entries, err := p.b.Entries(t.Context(), p.show, waitlist.EntryFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	line := func(fan string, party int, tier string, s waitlist.State, dormant bool, missed int, position int64) string {
		if s == waitlist.Left || s == waitlist.Removed || s == waitlist.Bought {
			missed = 0 // nobody sees it
		}
		return fmt.Sprintf("%s party %d tier %q %s dormant %v missed %d position %d", fan, party, tier, s, dormant, missed, position)
	}
	for _, e := range entries {
		got = append(got, line(p.short(e.FanID), e.Party, e.Tier, e.State, e.Dormant, e.Missed, e.Position))
	}
	for _, e := range p.line() {
		want = append(want, line(e.fan, e.party, e.tier, e.state, e.dormant, e.missed, p.position(e)))
	}
	same(t, "the line", got, want)
}

func (p *play) checkOpenings(t *rapid.T) {
	openings, err := p.b.Openings(t.Context(), p.show, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(openings)
	var got, want []string
	for i := range openings {
		o := &openings[i]
		if o.Free+o.Held+o.Confirmed != o.Quantity {
			t.Fatalf("%s: %d seats free, %d held and %d confirmed of %d", o.ID, o.Free, o.Held, o.Confirmed, o.Quantity)
		}
		got = append(got, fmt.Sprintf("%s %s free %d held %d confirmed %d told %d", o.ID, o.State, o.Free, o.Held, o.Confirmed, o.Told))
	}
	for _, o := range p.openings {
		told := 0
		for _, turn := range o.turns {
			if p.shown(o, turn) {
				told++
			}
		}
		want = append(want, fmt.Sprintf("%s %s free %d held %d confirmed %d told %d", o.id, o.state,
			o.count("free")+o.count("returned"), o.count("held"), o.count("confirmed"), told))
	}
	same(t, "openings", got, want)
}

// checkSeats compares the labelled seats; no label is live in two openings.
func (p *play) checkSeats(t *rapid.T) {
	rows, err := p.b.store.Pool().Query(t.Context(),
		`SELECT opening_id || ' ' || label || ' ' || s.state FROM openings o JOIN seats s USING (opening_no) WHERE o.show_no = $1
		 ORDER BY opening_no, no`, p.no)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	open := map[string]bool{}
	for _, o := range p.openings {
		for _, s := range o.seats {
			if !o.labelled {
				continue
			}
			want = append(want, o.id+" "+s.label+" "+s.state)
			if s.state == "free" || s.state == "held" {
				if open[s.label] {
					t.Fatalf("seat %s is live in two openings", s.label)
				}
				open[s.label] = true
			}
		}
	}
	same(t, "seats", got, want)
}

// checkTurns compares the waves and their members, in order. Nobody is told twice,
// and nobody has two live turns of mode turns.
func (p *play) checkTurns(t *rapid.T) {
	rows, err := p.b.store.Pool().Query(t.Context(), `
		SELECT o.opening_id || ' ' || string_agg(f.fan_id, ' ' ORDER BY x.k) FROM wave_members m JOIN openings o USING (opening_no)
		CROSS JOIN LATERAL unnest(m.fans, m.ks) x (fan, k) JOIN fans f ON f.fan_no = x.fan
		WHERE m.show_no = $1 GROUP BY o.opening_no, o.opening_id, m.n ORDER BY o.opening_no, m.n`, p.no)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = p.short(got[i])
	}
	var want []string
	for _, o := range p.openings {
		told := map[string]bool{}
		for _, w := range o.waves {
			want = append(want, o.id+" "+strings.Join(w, " "))
			for _, fan := range w {
				if told[fan] {
					t.Fatalf("%s was told of %s twice", fan, o.id)
				}
				told[fan] = true
			}
		}
	}
	same(t, "waves", got, want)
	for _, fan := range p.fans {
		if _, n := p.liveTurns(fan); n > 1 {
			t.Fatalf("%s has %d live turns", fan, n)
		}
	}
}

func (p *play) checkVerdicts(t *rapid.T) {
	for _, o := range p.openings {
		for _, fan := range p.fans {
			v, err := p.b.Verdict(t.Context(), p.ref(o), p.id(fan))
			if err != nil {
				t.Fatal(err)
			}
			state, reason := p.verdict(o, fan)
			if v.State != state || v.Reason != reason {
				t.Fatalf("verdict of %s at %s: %s/%s, want %s/%s", fan, o.id, v.State, v.Reason, state, reason)
			}
			p.checkVerdict(t, o, fan, &v)
			p.checkPast(t, o, fan, string(state)+"/"+string(reason))
		}
	}
}

// checkVerdict compares the rest of a verdict.
func (p *play) checkVerdict(t *rapid.T, o *mOpening, fan string, v *waitlist.Verdict) {
	if v.OpensAt != nil {
		x := o.turns[fan]
		if x == nil || !v.OpensAt.Equal(x.opens) || !v.ClosesAt.Equal(x.closes) {
			t.Fatalf("turn of %s at %s: %v to %v, want %+v", fan, o.id, v.OpensAt, v.ClosesAt, x)
		}
	}
	if v.State == waitlist.VerdictOpen && !p.now.Before(*v.ClosesAt) {
		t.Fatalf("a verdict is open past its close: %+v", v)
	}
	if (v.Ahead != nil) != (v.Reason == waitlist.Behind) {
		t.Fatalf("ahead of %+v", v)
	}
	if p.b.cache != nil {
		return // others change it, and it may be a second old
	}
	if v.Ahead != nil && *v.Ahead != max(0, p.position(p.entry(fan))-1) {
		t.Fatalf("%d ahead of %s, position %d", *v.Ahead, fan, p.position(p.entry(fan)))
	}
}

// checkPast: what was said of a final opening stays said, but for a hold that may
// still be confirmed.
func (p *play) checkPast(t *rapid.T, o *mOpening, fan, now string) {
	if o.state == waitlist.OpeningOpen {
		return
	}
	if c := o.claims[fan]; c != nil && c.state == waitlist.ClaimHeld {
		return
	}
	key := o.id + " " + fan
	if was, known := p.final[key]; known && was != now {
		t.Fatalf("verdict of %s was %s, now %s", key, was, now)
	}
	p.final[key] = now
}

func (p *play) checkItems(t *rapid.T) {
	for _, e := range p.entries {
		items, unread, err := p.b.store.Items(t.Context(), p.id(e.fan), notifier.InboxQuery{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]mItem{}
		for i := range items {
			it := &items[i]
			got[p.short(it.ID)] = mItem{it.State, time.Time(it.CreatedAt), it.ReadAt == nil}
			if i > 0 && time.Time(it.CreatedAt).After(time.Time(items[i-1].CreatedAt)) {
				t.Fatalf("the inbox of %s is not newest first", e.fan)
			}
		}
		want, wantUnread := p.items(e), 0
		for _, it := range want {
			if it.Unread {
				wantUnread++
			}
		}
		same(t, "inbox of "+e.fan, got, want)
		same(t, "unread of "+e.fan, unread, wantUnread)
	}
}

func (p *play) checkClaims(t *rapid.T) {
	for _, o := range p.openings {
		for fan, c := range o.claims {
			got, err := p.b.ClaimByID(t.Context(), c.id)
			if err != nil {
				t.Fatal(err)
			}
			want := c.state
			if want == waitlist.ClaimHeld && !c.stands(p.now) {
				want = waitlist.ClaimLapsed
			}
			if got.State != want || got.FanID != p.id(fan) || got.OpeningID != o.id || !slices.Equal(got.Labels, c.labels) {
				t.Fatalf("claim of %s at %s: %s %v until %v, want %s %+v", fan, o.id, got.State, got.Labels, got.ExpiresAt, want, c)
			}
		}
	}
}

// checkReports compares whom each wave took and how many it skipped, by reason.
func (p *play) checkReports(t *rapid.T) {
	for _, o := range p.openings {
		reports, err := p.b.WaveReports(t.Context(), p.ref(o), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		reports = slices.DeleteFunc(reports, func(r waitlist.WaveReport) bool { return r.Size == 0 })
		slices.Reverse(reports)
		var got []map[waitlist.Reason]int
		for i := range reports {
			got = append(got, reports[i].Skipped)
		}
		same(t, "skipped by the waves of "+o.id, got, o.skipped)
	}
}

// checkOrder replays every opening from what was stored of it.
func (p *play) checkOrder(t *rapid.T) {
	for _, o := range p.openings {
		r, err := p.b.Order(t.Context(), p.ref(o), 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Wrong != nil || r.Partly || r.More != 0 {
			t.Fatalf("the replay of %s says: %+v", o.id, r.Wrong)
		}
	}
}

// checkStanding asks for the present state of every turn at once.
func (p *play) checkStanding(t *rapid.T) {
	var keys []live.TurnKey
	var want []notifier.TurnState
	for _, o := range p.openings {
		for i := range p.entries {
			e := p.entries[i]
			x := o.turns[e.fan]
			if x == nil {
				continue
			}
			keys = append(keys, live.TurnKey{OpeningNo: o.no, EntryNo: int64(i + 1)})
			state := p.items(e)[notifier.TurnID("s", o.id)].State
			if p.phase(o, x) == waitlist.PhaseUpcoming {
				state = notifier.StateOpen
			}
			want = append(want, state)
		}
	}
	got, err := p.b.store.Feed().Standing(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "standing", got, want)
}

// checkReturned: seats left are handed back once, by label, in the event.
func (p *play) checkReturned(t *rapid.T) {
	rows, err := p.b.store.Pool().Query(t.Context(), `
		SELECT o.opening_id || ' ' || (e.data ->> 'quantity') || ' ' || (e.data ->> 'labels')
		FROM events e JOIN openings o USING (opening_no)
		WHERE e.show_no = $1 AND type = 'seats.returned' ORDER BY o.opening_no, e.id`, p.no)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, o := range p.openings {
		for _, r := range o.returned {
			quoted := make([]string, len(r.labels))
			for i, l := range r.labels {
				quoted[i] = `"` + l + `"`
			}
			want = append(want, fmt.Sprintf("%s %d [%s]", o.id, r.quantity, strings.Join(quoted, ", ")))
		}
	}
	same(t, "seats returned", got, want)
}
