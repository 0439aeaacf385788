package sim

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func talk(colour bool) (*tale, *bytes.Buffer) {
	var out bytes.Buffer
	return &tale{scr: &screen{out: &out}, colour: colour, now: newClock().now}, &out
}

func TestTaleStandsInColumns(t *testing.T) {
	tl, out := talk(false)
	tl.tell(clubShow, "#12", verbFreed, "%s: %s", seats(2), reasons["card_declined"])
	tl.tell(clubShow, "#12", verbTurn, "%s, told in %s", "ada", span(14e6))
	tl.tell(stadiumShow, "#4821", verbNext, "%s, told in %s", "cleo.199922", span(9.4e6))
	tl.tell(clubShow, "", verbJoined, "%s, again, at position %d", "ada", 40)
	want := `20:14:03  locksmith  #12    freed     2 seats: a card was declined
20:14:03  locksmith  #12    turn      ada, told in 14 ms
20:14:03  vance      #4821  next      cleo.199922, told in 9.4 ms
20:14:03  locksmith         joined    ada, again, at position 40
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestColourIsOnTheVerbAlone(t *testing.T) {
	tl, out := talk(true)
	tl.tell(clubShow, "#1", verbBought, "ada")
	tl.tell(clubShow, "#1", verbClaimed, "ben")
	want := "20:14:03  locksmith  #1     \x1b[32mbought  \x1b[0m  ada\n20:14:03  locksmith  #1     claimed   ben\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestGreetingSaysWhatToOpenAndHowToFreeASeat(t *testing.T) {
	tl, out := talk(false)
	tl.greet(StoryConfig{
		BaseURL: "http://127.0.0.1:8080", APIKey: "dev-it's-open",
		Addresses: []Address{{"admin page", "http://127.0.0.1:8080/admin"}, {"API", "http://127.0.0.1:8080/docs"}},
	})
	want := `
Fanline is running, and a demo plays on it by itself.

  admin page  http://127.0.0.1:8080/admin
  API         http://127.0.0.1:8080/docs

Free a seat yourself, in another terminal, as often as you like:

  curl -X PUT -H 'Authorization: Bearer dev-it'\''s-open' \
  -H 'Content-Type: application/json' \
  -d '{"quantity":1,"reason":"returned"}' \
  "http://127.0.0.1:8080/v1/shows/locksmith-tuesday/openings/hand-$(date +%s)"

Stop with Ctrl-C.

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("wider than 80: %s", line)
		}
	}
}

func TestSeatNameIsTheTailOfTheID(t *testing.T) {
	for id, want := range map[string]string{"demo-lx3k-12": "#12", "hand-1764470421": "#0421", "x": "#x", "a-": "#"} {
		if got := seatName(id); got != want {
			t.Errorf("%s is %s", id, got)
		}
	}
}

func TestPlansFollowTheSeedAndMostFansBuy(t *testing.T) {
	var acts [4]int
	for _, fan := range clubFans {
		for n := range 50 {
			p := planFor(7, fan, seatName("x-"+string(rune('a'+n))))
			if p != planFor(7, fan, seatName("x-"+string(rune('a'+n)))) {
				t.Fatal("the same seed plans two things")
			}
			acts[p.act]++
		}
	}
	total := len(clubFans) * 50
	if acts[buys] < total/2 || acts[forgets] == 0 || acts[declines] == 0 || acts[sleeps] == 0 {
		t.Errorf("buys, forgets, declines, sleeps: %v of %d", acts, total)
	}
	if a, b := planFor(1, "ada", "o"), planFor(2, "ada", "o"); a == b {
		t.Error("another seed plans the same")
	}
}
