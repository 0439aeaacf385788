package admin

import (
	"fmt"
	"net/url"
	"testing"

	"fanline/waitlist"
)

// staged is a world with two shows in the middle of what they do: a club's line of
// a few and a stadium's of thousands.
func staged(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.show("locksmith-tue", "Tuesday night", "The Locksmith")
	w.show("marlow-vance", "Marlow Vance, the reunion", "Harbour Stadium")
	w.stageClub()
	w.stageStadium()
	b := w.staff("kim")
	b.post("/admin/shows/locksmith-tue/fans/fan-31/front", because("bought a ticket that was then sold twice"))
	b.post("/admin/shows/locksmith-tue/fans/fan-12/remove", because("asked by phone to be taken off"))
	w.staff("lee").post("/admin/shows/locksmith-tue/openings/B-07/cancel", because("the ticketing app reported it by mistake"))
	b.post("/admin/shows/marlow-vance/fans/fan-00250/turn", url.Values{"reason": {"wheelchair space"}, "opening": {"late-returns"}})
	return w
}

func (w *world) stageClub() {
	const show = "locksmith-tue"
	for i := 1; i <= 36; i++ {
		j := waitlist.Join{FanID: fmt.Sprintf("fan-%02d", i)}
		if i%7 == 2 {
			j.Party = 4
		}
		if i%11 == 5 {
			j.Tier = "standing"
		}
		w.join(show, j)
	}
	w.free(show, waitlist.NewOpening{ID: "A-14", Seats: []string{"A-14", "A-15"}, Reason: "hold_timeout"})
	w.decide()
	w.buy(show, "A-14", "fan-01", "fan-03")
	w.free(show, waitlist.NewOpening{ID: "C-02", Seats: []string{"C-02", "C-03", "C-04"}, Tier: "stalls", Reason: "card_declined"})
	w.decide()
	w.opened(show, "C-02", "fan-04")
	w.must(w.Decline(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: "C-02"}, "fan-04"))
	w.take(show, "C-02", "fan-06")
	w.decide()
	w.free(show, waitlist.NewOpening{ID: "B-07", Quantity: 1})
	w.decide()
}

func (w *world) stageStadium() {
	const show = "marlow-vance"
	var batch []waitlist.Join
	for i := 1; i <= 12_000; i++ {
		batch = append(batch, waitlist.Join{FanID: fmt.Sprintf("fan-%05d", i), Party: 1 + i%4/3})
		if len(batch) == 1000 {
			if _, err := w.JoinMany(w.t.Context(), show, batch); err != nil {
				w.t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	w.free(show, waitlist.NewOpening{ID: "block-112", Quantity: 24, Reason: "new_inventory"})
	w.decide()
	w.buy(show, "block-112", "fan-00001", "fan-00002", "fan-00004", "fan-00005")
	w.take(show, "block-112", "fan-00006", "fan-00008")
	w.must(w.Leave(w.t.Context(), show, "fan-00009"))
	w.must(w.Decline(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: "block-112"}, "fan-00007"))
	w.decide()
	w.free(show, waitlist.NewOpening{ID: "late-returns", Quantity: 6})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// opened waits for a turn that the pace put a little off.
func (w *world) opened(show, opening, fan string) {
	w.t.Helper()
	for w.t.Context().Err() == nil {
		v, err := w.Verdict(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: opening}, fan)
		w.must(err)
		if v.Reason == waitlist.TurnOpen {
			return
		}
		if v.Reason != waitlist.TurnUpcoming {
			w.t.Fatalf("%s at %s: %s, want turn_open", fan, opening, v.Reason)
		}
	}
}

func (w *world) take(show, opening string, fans ...string) (claims []waitlist.Claim) {
	w.t.Helper()
	for _, fan := range fans {
		w.opened(show, opening, fan)
		c, _, err := w.Claim(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: opening}, fan)
		w.must(err)
		claims = append(claims, c)
	}
	return claims
}

func (w *world) buy(show, opening string, fans ...string) {
	w.t.Helper()
	for _, c := range w.take(show, opening, fans...) {
		_, err := w.Confirm(w.t.Context(), c.ID)
		w.must(err)
	}
}
