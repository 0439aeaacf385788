package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fanline/sim"
)

// together calls f n times at once and returns what it returned.
func together[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return out
}

// crampedDatabase is one to which an instance has few connections, far fewer than
// calls in a rush: each call must do with one of them.
func crampedDatabase(t *testing.T) string {
	t.Helper()
	return database(t) + "&pool_max_conns=8"
}

func TestOneSeatClaimedByFiftyAtOnceGoesToOne(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, 2, crampedDatabase(t))
	l := w.newLine(t, 50, sim.Policy{ReleasePerS: new(1000.0), ClaimWindowS: new(120)})
	l.connect(l.fans[48:], w.in[0], w.in[1])
	l.free(0, "seat", 1, sim.Policy{Mode: new("everyone"), HoldS: new(6)})
	l.turn(49, "seat", 5*time.Second)
	last := l.turn(50, "seat", 5*time.Second)

	claims := l.claimTogether("seat")
	won := wantOneWinner(t, claims)
	if told := must(w.app.Opening(w.ctx, l.show, "seat"))(t).Told; told != 50 {
		t.Errorf("%d were told, want 50", told)
	}

	// Nobody confirms. The seat is free again when the hold lapses, and goes to
	// somebody else; the winner had the one chance.
	if again := must(l.me(l.fans[won]).Claim(w.ctx, l.show, "seat"))(t); again.Created || again.ID != claims[won].claim.ID {
		t.Errorf("the winner claims again and gets %+v", again)
	}
	second := (won + 1) % 50
	l.claimWhenFree(l.fans[second], "seat", 6*time.Second+3*soon)
	_, err := l.me(l.fans[won]).Claim(w.ctx, l.show, "seat")
	wantProblem(t, err, http.StatusGone, "turn_over")
	wantVerdict(t, must(w.app.Verdict(w.ctx, l.show, "seat", l.fans[won]))(t), "over", "hold_lapsed")

	l.buy(l.fans[second], "seat")
	l.wantState("seat", "filled", soon)
	_, err = l.me(l.fans[(won+2)%50]).Claim(w.ctx, l.show, "seat")
	wantProblem(t, err, http.StatusGone, "filled")
	for n := 49; n <= 50; n++ {
		if n-1 != won && n-1 != second {
			must(l.fan(n).WaitUpdate(w.ctx, last.ID, "over"))(t)
		}
	}
	l.onceASocket()
}

// claimWhenFree tries again as the refusals ask it to.
func (l *line) claimWhenFree(fan, opening string, patience time.Duration) {
	l.t.Helper()
	timeout := time.After(patience)
	for {
		_, err := l.me(fan).Claim(l.w.ctx, l.show, opening)
		if err == nil {
			return
		}
		p := wantProblem(l.t, err, http.StatusConflict, "all_held")
		select {
		case <-time.After(p.RetryAfter):
		case <-timeout:
			l.t.Fatalf("%s cannot claim within %v: %v", fan, patience, err)
		}
	}
}

type claimed struct {
	claim sim.Claim
	err   error
}

// claimTogether has everybody in line claim at once, each at the next instance.
func (l *line) claimTogether(opening string) []claimed {
	return together(len(l.fans), func(i int) claimed {
		app := l.w.app.At(i % len(l.w.in))
		claim, err := app.Claim(l.w.ctx, l.show, opening, l.fans[i])
		return claimed{claim, err}
	})
}

// wantOneWinner wants one 201 and as many clear refusals as there were others.
func wantOneWinner(t *testing.T, claims []claimed) (won int) {
	t.Helper()
	won = -1
	for i, c := range claims {
		switch {
		case c.err != nil:
			p := wantProblem(t, c.err, http.StatusConflict, "all_held")
			if p.RetryAfter <= 0 || p.Detail == "" || p.Title == "" {
				t.Errorf("the refusal says no when or why: %+v", p)
			}
		case won >= 0:
			t.Fatalf("two won: fans %d and %d", won+1, i+1)
		case !c.claim.Created || c.claim.State != "held" || c.claim.Seats != 1:
			t.Errorf("the winner was answered %+v", c.claim)
			won = i
		default:
			won = i
		}
	}
	if won < 0 {
		t.Fatal("nobody won")
	}
	return won
}

func TestAnOpeningReportedFiftyTimesAtOnceIsOne(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, 2, crampedDatabase(t))
	l := w.newLine(t, 5, sim.Policy{})
	l.connectHalves()
	type answer struct {
		status int
		body   string
	}
	answers := together(50, func(i int) answer {
		url := fmt.Sprintf("%s/v1/shows/%s/openings/twice", w.in[i%2].base, l.show)
		status, header, body := w.send(t, http.MethodPut, url, `{"quantity":1,"reason":"returned"}`)
		if typ := header.Get("Content-Type"); !strings.HasPrefix(typ, "application/json") {
			t.Errorf("the answer is %s", typ)
		}
		return answer{status, body}
	})
	created := 0
	for _, a := range answers {
		switch a.status {
		case http.StatusCreated:
			created++
		case http.StatusOK:
		default:
			t.Errorf("answered %d %s", a.status, a.body)
		}
	}
	if created != 1 {
		t.Errorf("%d answers are 201, want one", created)
	}
	l.turn(1, "twice", soon)
	if told := l.told("twice"); !slices.Equal(told, l.fans[:1]) {
		t.Errorf("told were %v, want fan 1 alone", told)
	}
	n := 0
	for _, err := range w.app.Openings(w.ctx, l.show) {
		check(t, err)
		n++
	}
	if n != 1 {
		t.Errorf("the show has %d openings, want one", n)
	}

	// Another body under the same id is another matter.
	url := fmt.Sprintf("%s/v1/shows/%s/openings/twice", w.in[0].base, l.show)
	status, header, body := w.send(t, http.MethodPut, url, `{"quantity":2,"reason":"returned"}`)
	if status != http.StatusConflict || !strings.Contains(body, `"conflict"`) {
		t.Errorf("another body was answered %d %s", status, body)
	}
	if typ := header.Get("Content-Type"); typ != "application/problem+json" {
		t.Errorf("the refusal is %s", typ)
	}
}

// send makes a ticketing app's call as bytes.
func (w *world) send(t *testing.T, method, url, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	req.Header.Set("Authorization", "Bearer "+apiSecret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.http.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestTwoHundredJoinsAtOnceGetTwoHundredPlaces(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, 2, crampedDatabase(t))
	l := w.newLine(t, 0, sim.Policy{})
	type joined struct {
		entry sim.Entry
		err   error
	}
	for i, j := range together(200, func(i int) joined {
		e, err := w.app.At(i%2).Join(w.ctx, l.show, sim.Join{FanID: fmt.Sprintf("rush-%03d", i)})
		return joined{e, err}
	}) {
		check(t, j.err)
		if !j.entry.Created || j.entry.State != "waiting" {
			t.Errorf("join %d was answered %+v", i, j.entry)
		}
	}
	a, b := l.listing(0), l.listing(1)
	if !slices.Equal(a, b) {
		t.Errorf("the instances list different orders:\n%v\n%v", a, b)
	}
	if len(a) != 200 {
		t.Fatalf("%d are in line, want 200", len(a))
	}
	places, fans, entries := map[int64]bool{}, map[string]bool{}, map[int64]bool{}
	for i, e := range a {
		places[e.Place], fans[e.FanID], entries[e.Entry] = true, true, true
		if i > 0 && e.Place <= a[i-1].Place {
			t.Errorf("place %d is listed after %d", e.Place, a[i-1].Place)
		}
	}
	if len(places) != 200 || len(fans) != 200 || len(entries) != 200 {
		t.Errorf("%d places, %d fans, %d entry numbers; want 200 of each", len(places), len(fans), len(entries))
	}
	// A position may be a second old.
	w.until(2*soon, "positions are 1 to 200", func() bool {
		for i, e := range a {
			got := must(w.app.At(i%2).Entry(w.ctx, l.show, e.FanID))(t)
			if got.Position != i+1 {
				return false
			}
		}
		return true
	})
}

// listing is the line as one instance lists it, in small pages, without what is
// worked out on reading.
func (l *line) listing(at int) []sim.Entry {
	l.t.Helper()
	var all []sim.Entry
	for e, err := range l.w.app.At(at).Entries(l.w.ctx, l.show, sim.EntryFilter{Limit: 30}) {
		check(l.t, err)
		e.Position = 0
		all = append(all, e)
	}
	return all
}
