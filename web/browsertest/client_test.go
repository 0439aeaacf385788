package browsertest

import (
	"strings"
	"testing"
	"time"

	"fanline/waitlist"
)

// startScript makes a client that notes its events in log and its items in items.
// tokens are given in their order, the last one again and again; asked are the
// reasons.
const startScript = `(async () => {
	const { Fanline } = await import("/client/fanline.js");
	window.log = []; window.items = []; window.asked = [];
	const tokens = %s;
	window.fan = new Fanline({
		url: location.origin, storage: localStorage,
		token: async (reason) => (asked.push(reason), tokens.length > 1 ? tokens.shift() : tokens[0]),
	});
	for (const type of ["state", "inbox", "update", "line", "unread", "tokenerror"])
		fan.addEventListener(type, (e) => log.push({ type, ...e.detail }));
	fan.addEventListener("item", (e) => items.push(e.detail.id));
	fan.connect();
	return true;
})()`

// client opens an empty page with a client for a fan.
func (h *house) client(fan string) *chrome {
	h.t.Helper()
	return h.clientWith(func() []string { return []string{token(fan, time.Hour)} })
}

// clientWith makes the tokens when the browser is there, so that short ones still
// hold.
func (h *house) clientWith(tokens func() []string) *chrome {
	h.t.Helper()
	c := newChrome(h.t)
	c.To(h.url + "/empty")
	run[bool](c, startScript, tokens())
	return c
}

// newClub is a house with a show and its line.
func newClub(t *testing.T, fans ...string) *house {
	t.Helper()
	h := newHouse(t)
	h.show("club", "Tuesday night", "The Locksmith", 10*time.Minute)
	h.join("club", fans...)
	return h
}

func TestTheClientHearsOfATurnAndActsOnIt(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	c := h.client("ada")
	c.live(1)
	c.Wait(`log.some((e) => e.type === "inbox" && e.items.length === 0)`)
	c.Wait(`fan.lines.get("club") === 1`)
	h.free("club", "o1")
	c.Wait(`items.includes("turn:club:o1")`)
	if n := run[int](c, `fan.turns.length`); n != 1 {
		t.Errorf("%d open turns, want 1", n)
	}
	c.Wait(`fan.unread === 1`)
	if d := run[float64](c, `Math.abs(fan.serverNow() - Date.now())`); d > 1000 {
		t.Errorf("the server's time is %v ms off on the same machine", d)
	}
	run[bool](c, `fan.ack(["turn:club:o1"]); fan.read(["turn:club:o1"]).then((unread) => unread === 0)`)
	if state := run[string](c, `fan.claim("club", "o1").then((c) => c.state)`); state != "held" {
		t.Errorf("the claim is %s", state)
	}
	if state := run[string](c, `fan.turn("club", "o1").then((v) => v.reason)`); state != "claimed" {
		t.Errorf("the verdict is %s", state)
	}
	if n := run[int](c, `fan.turns.length`); n != 0 {
		t.Errorf("%d open turns after the claim", n)
	}
	c.Allow("409")
	if code := run[string](c, `fan.decline("club", "o1").then(() => "", (e) => e.code + " " + e.status + " " + (e.message !== ""))`); code != "already_claimed 409 true" {
		t.Errorf("declining what is claimed: %s", code)
	}
	if state := run[string](c, `fan.entries().then((l) => l[0].state)`); state != "holding" {
		t.Errorf("the entry is %s", state)
	}
	run[any](c, `fan.leave("club")`)
	if state := run[string](c, `fan.entries().then((l) => l[0]?.state ?? "none")`); state != "left" && state != "none" {
		t.Errorf("after leaving, the entry is %s", state)
	}
}

func TestAfterACutSocketTheClientGetsWhatItMissedOnce(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.client("ada")
	c.Allow("WebSocket connection to")
	c.live(1)
	h.everyone("o1")
	c.Wait(`items.includes("turn:club:o1")`)
	h.refusing.Store(1 << 30) // the door is shut while more happens
	h.cut()
	c.Wait(`log.at(-1).state === "waiting"`)
	h.everyone("o2", "o3")
	h.refusing.Store(0)
	c.live(2)
	c.Wait(`items.includes("turn:club:o3")`)
	h.everyone("o4")
	c.Wait(`items.includes("turn:club:o4")`)
	if got := strings.Join(c.items(), " "); got != "turn:club:o1 turn:club:o2 turn:club:o3 turn:club:o4" {
		t.Errorf("items: %s", got)
	}
	// A reload goes on from the kept cursor, and reads the inbox for what was before.
	h.everyone("o5")
	c.Wait(`items.includes("turn:club:o5")`)
	c.Wait(`localStorage.getItem("fanline.cursor:ada") !== null`)
	c.To(h.url + "/empty?again")
	run[bool](c, startScript, []string{token("ada", time.Hour)})
	c.Wait(`log.some((e) => e.type === "inbox" && e.items.length === 5)`)
	h.everyone("o6")
	c.Wait(`items.includes("turn:club:o6")`)
	if got := strings.Join(c.items(), " "); got != "turn:club:o6" {
		t.Errorf("items after the reload: %s", got)
	}
}

// everyone records openings that tell everyone, and waits until ada is told.
func (h *house) everyone(openings ...string) {
	h.t.Helper()
	for _, id := range openings {
		_, _, err := h.lines.Record(h.t.Context(), "club", waitlist.NewOpening{
			ID: id, Quantity: 1, Reason: "returned",
			Policy: waitlist.OpeningPolicy{Mode: new(waitlist.ModeEveryone)},
		})
		check(h.t, err)
		for h.reason("club", id, "ada") != "turn_open" && h.t.Context().Err() == nil {
			<-time.After(5 * time.Millisecond)
		}
	}
}

func TestTheClientRenewsItsTokenInPlace(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.clientWith(func() []string { return []string{token("ada", 4*time.Second), token("ada", time.Hour)} })
	c.live(1)
	c.Wait(`asked.includes("expiring")`)
	<-time.After(5 * time.Second) // past the end of the first
	h.free("club", "o1")
	c.Wait(`items.includes("turn:club:o1")`)
	if got := run[[]string](c, `asked`); strings.Join(got, " ") != "start expiring" {
		t.Errorf("tokens were asked for because of %v", got)
	}
	if n := h.dials.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestAnExpiredTokenIsAskedForAgain(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	// The one given at the warning is the same, so that the first one ends.
	c := h.clientWith(func() []string {
		short := token("ada", 4*time.Second)
		return []string{short, short, token("ada", time.Hour)}
	})
	c.Allow("WebSocket connection to")
	c.live(2)
	if got := run[[]string](c, `asked`); strings.Join(got, " ") != "start expiring expired" {
		t.Errorf("tokens were asked for because of %v", got)
	}
}

func TestASignedOutClientStaysAway(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.client("ada")
	c.live(1)
	fanNo := must(h.store.Feed().FanNo(t.Context(), "ada"))(t)
	check(t, signer{h}.SignOut(t.Context(), fanNo))
	c.Wait(`fan.state === "away"`)
	if got := run[[]string](c, `asked`); strings.Join(got, " ") != "start signed_out" {
		t.Errorf("tokens were asked for because of %v", got)
	}
	if n := h.dials.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	run[any](c, `fan.connect()`) // with the same token: it is not even tried
	c.Wait(`asked.length === 3 && fan.state === "away"`)
	if n := h.dials.Load(); n != 1 {
		t.Errorf("%d connections after connect with the same token, want 1", n)
	}
}

func TestABadTokenIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.clientWith(func() []string { return []string{"not.a.token"} })
	c.Allow("WebSocket connection to", "401")
	c.Wait(`fan.state === "away"`)
	if n := h.dials.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestTheNinthWindowSendsTheOldestAway(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.client("ada")
	c.live(1)
	run[bool](c, `(async () => {
		const { Fanline } = await import("/client/fanline.js");
		for (let i = 0; i < 8; i++) {
			const f = new Fanline({ url: location.origin, token: () => %s });
			await new Promise((live) => (f.addEventListener("inbox", live), f.connect()));
		}
		return true;
	})()`, token("ada", time.Hour))
	c.Wait(`fan.state === "away" && log.at(-1).code === 4009`)
	if n := h.dials.Load(); n != 9 {
		t.Errorf("%d connections, want 9", n)
	}
}

func TestAFullServerIsTriedAgain(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	h.refusing.Store(3)
	c := h.client("ada")
	c.Allow("WebSocket connection to")
	c.live(1)
	if n := h.dials.Load(); n != 4 {
		t.Errorf("%d connections, want 4", n)
	}
	if got := run[[]string](c, `asked`); strings.Join(got, " ") != "start" {
		t.Errorf("tokens were asked for because of %v", got)
	}
}

func TestAServerThatStopsIsComeBackToWithNothingLostOrTwice(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.client("ada")
	c.Allow("WebSocket connection to", "ERR_CONNECTION_REFUSED")
	c.live(1)
	h.everyone("o1")
	c.Wait(`items.includes("turn:club:o1")`)
	h.restart()
	h.everyone("o2")
	c.live(2)
	c.Wait(`items.includes("turn:club:o2")`)
	if got := strings.Join(c.items(), " "); got != "turn:club:o1 turn:club:o2" {
		t.Errorf("items: %s", got)
	}
	if code := run[int](c, `log.find((e) => e.state === "waiting").code`); code != 1001 {
		t.Errorf("the first connection ended with %d, want 1001", code)
	}
}

// TestACursorOfNoUseReadsTheInboxAnew keeps one that no server made.
func TestACursorOfNoUseReadsTheInboxAnew(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	h.everyone("o1")
	c := newChrome(t)
	c.To(h.url + "/empty")
	run[any](c, `localStorage.setItem("fanline.cursor:ada", "of-no-use")`)
	run[bool](c, startScript, []string{token("ada", time.Hour)})
	c.Wait(`log.some((e) => e.state === "live" && e.reset)`)
	c.Wait(`log.some((e) => e.type === "inbox" && e.items.length === 1)`)
	c.Wait(`localStorage.getItem("fanline.cursor:ada") !== "of-no-use"`)
	if got := c.items(); len(got) != 0 {
		t.Errorf("items that the inbox had came again: %v", got)
	}
}
