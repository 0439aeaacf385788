package admin

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fanline/notifier"
	"fanline/waitlist"
)

// rules are a policy's fields as the form sends them, some of them changed.
func rules(changes ...string) url.Values {
	v := url.Values{
		"mode": {"turns"}, "fans_per_seat": {"1"}, "claim_window_s": {"600"}, "hold_s": {"600"}, "release_per_s": {"50"},
		"max_missed": {"3"}, "strategy": {"auto"}, "quiet_from": {""}, "quiet_to": {""}, "quiet_zone": {"Europe/Dublin"},
	}
	for i := 0; i < len(changes); i += 2 {
		v.Set(changes[i], changes[i+1])
	}
	return v
}

// hidden is the value of a field that the page holds for its form.
func (s *shown) hidden(name string) string {
	s.t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(s.body)
	if m == nil {
		s.t.Fatalf("%s has no field %s", s.path, name)
	}
	return m[1]
}

func TestRulesAreSaidInWordsBeforeTheyAreSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	for i := range 30 {
		w.fans("club", fmt.Sprintf("f%02d", i))
	}
	b := w.staff("kim")
	ask := func(changes ...string) *shown {
		return b.get("/admin/shows/club/policy?" + rules(changes...).Encode())
	}
	ask().is(http.StatusOK).says("Nothing would change")
	ask("release_per_s", "0.1", "claim_window_s", "3600").
		says("about 30 fans hear within 5 minutes; each has 1 hour to take it; the line moves at 0.1 a second.",
			"Pace, missed turns and quiet hours hold from the next decision on.")
	ask("mode", "everyone").says("A freed seat is told to everyone in line", "about 30 fans hear within a second")
	ask("fans_per_seat", "2.5", "max_missed", "0").says("offered to 3 fans at a time", "asked again and again")
	ask("quiet_from", "22:00", "quiet_to", "08:00").says("No turn opens from 22:00 to 08:00 (Europe/Dublin).", "quiet hours")
	for _, wrong := range [][]string{
		{"claim_window_s", "0"},
		{"claim_window_s", "1e99"},
		{"hold_s", ""},
		{"release_per_s", "0.0001"},
		{"release_per_s", "null"},
		{"fans_per_seat", "x"},
		{"mode", "all"},
		{"quiet_from", "25:00"},
	} {
		ask(wrong...).is(http.StatusUnprocessableEntity).lacks("Save the rules")
	}
	if s, _ := w.Show(t.Context(), "club"); s.Policy != waitlist.DefaultPolicy() {
		t.Errorf("looking changed the policy to %+v", s.Policy)
	}
}

func TestRulesThatSomebodyElseChangedAreNotOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	kim, lee := w.staff("kim"), w.staff("lee")
	form := rules("claim_window_s", "300", "reason", "the doors open soon")
	form.Set("was", kim.get("/admin/shows/club/policy?"+form.Encode()).hidden("was"))
	theirs := rules("release_per_s", "5", "reason", "slow checkout")
	theirs.Set("was", form.Get("was"))
	lee.post("/admin/shows/club/policy", theirs).is(http.StatusOK).says("The policy is changed.")
	w.wantNewest("lee policy club//: pace 50/s → 5/s: slow checkout")
	kim.post("/admin/shows/club/policy", form).is(http.StatusConflict).says("Somebody changed the rules meanwhile.")
	unreasoned := rules("claim_window_s", "300", "release_per_s", "5")
	unreasoned.Set("was", kim.get("/admin/shows/club/policy?"+unreasoned.Encode()).hidden("was"))
	kim.post("/admin/shows/club/policy", unreasoned).is(http.StatusUnprocessableEntity).says("Write down the reason")
	if s, _ := w.Show(t.Context(), "club"); s.Policy.ClaimWindowS != 600 || s.Policy.ReleasePerS != 5000 {
		t.Errorf("the policy is %+v", s.Policy)
	}
	w.wantNewest("lee policy club//: pace 50/s → 5/s: slow checkout")
}

func TestATestSeatIsFreedOnceHoweverOftenTheFormIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1")
	b := w.staff("kim")
	form := url.Values{"id": {b.get("/admin/shows/club/seat").hidden("id")}, "quantity": {"2"}, "why": {"card_declined"}}
	for range 2 {
		b.post("/admin/shows/club/seat", form).is(http.StatusOK).says("The test seat is free")
	}
	openings, err := w.Openings(t.Context(), "club", 0, 10)
	if err != nil || len(openings) != 1 || openings[0].Quantity != 2 || openings[0].Reason != "card_declined" {
		t.Errorf("%+v, %v", openings, err)
	}
	w.wantNewest("kim test_seat club/" + form.Get("id") + "/: ")
	for _, wrong := range []url.Values{
		{"id": {"test-x"}, "quantity": {"21"}, "why": {"returned"}},
		{"id": {"o1"}, "quantity": {"1"}, "why": {"returned"}},
		{"id": {"test-x"}, "quantity": {"1"}, "why": {"because"}},
	} {
		b.post("/admin/shows/club/seat", wrong).is(http.StatusUnprocessableEntity)
	}
}

func TestAnAnnouncementIsReadBeforeItIsSentAndSentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	b := w.staff("kim")
	form := url.Values{"title": {"Doors <b>at</b> eight"}, "body": {"One\r\nTwo"}, "step": {"look"}}
	form.Set("id", b.get("/admin/shows/club/announce").says("2 fans now").hidden("id"))
	b.post("/admin/shows/club/announce", form).is(http.StatusOK).says("It goes to <b>2 fans</b>", "Doors <b>at</b> eight").lacks("Doors <b>at</b>")
	inbox := func() []notifier.Item {
		items, _, err := w.store.Items(t.Context(), "f1", notifier.InboxQuery{Limit: 10})
		w.must(err)
		return items
	}
	if got := inbox(); len(got) != 0 {
		t.Errorf("looking sent %+v", got)
	}
	form.Set("step", "send")
	for range 2 {
		b.post("/admin/shows/club/announce", form).is(http.StatusOK).says("The announcement is on its way")
	}
	if got := inbox(); len(got) != 1 || got[0].Title != "Doors <b>at</b> eight" || got[0].Body != "One\nTwo" {
		t.Errorf("the inbox has %+v", got)
	}
	w.wantNewest("kim announce club//: ")
	form.Set("title", " ")
	b.post("/admin/shows/club/announce", form).is(http.StatusUnprocessableEntity)
	w.must(w.CancelShow(t.Context(), "club"))
	form.Set("title", "Gone")
	b.post("/admin/shows/club/announce", form).is(http.StatusGone).says("nothing more is announced")
}

func TestTheLineIsExportedWholeAndHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	var batch []waitlist.Join
	for i := range exportPage + 1 {
		batch = append(batch, waitlist.Join{FanID: fmt.Sprintf("fan-%05d", i), Party: 2})
	}
	batch[1].Tier, batch[2].Tier, batch[3].Tier, batch[4].Tier = "=1+1", "@cmd", "-2", `a "b", c`
	for len(batch) > 0 {
		n := min(1000, len(batch))
		_, err := w.JoinMany(t.Context(), "club", batch[:n])
		w.must(err)
		batch = batch[n:]
	}
	w.must(w.Leave(t.Context(), "club", "fan-00000"))
	b := w.staff("kim")
	read := func(path string) [][]string {
		page := b.get(path).is(http.StatusOK)
		rows, err := csv.NewReader(bytes.NewBufferString(page.body)).ReadAll()
		w.must(err)
		return rows[1:]
	}
	rows := read("/admin/shows/club/line.csv")
	if len(rows) != exportPage+1 || rows[0][1] != "fan-00000" || rows[0][0] != "" || rows[0][2] != "left" || rows[exportPage][0] != fmt.Sprint(exportPage) {
		t.Errorf("%d rows, from %v to %v", len(rows), rows[0], rows[len(rows)-1])
	}
	for i, want := range []string{"'=1+1", "'@cmd", "'-2", `a "b", c`} {
		if got := rows[i+1][4]; got != want {
			t.Errorf("the tier reads %s, want %s", got, want)
		}
	}
	if rows := read("/admin/shows/club/line.csv?state=left"); len(rows) != 1 {
		t.Errorf("%d who left", len(rows))
	}
	w.browser().get("/admin/shows/club/line.csv").is(http.StatusOK).says("Box office").lacks("fan-00001")
	b.get("/admin/shows/none/line.csv").is(http.StatusNotFound)
}

func TestAnActInTheLineComesBackToItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2", "f3")
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	b := w.staff("kim")
	b.get("/admin/shows/club/line?state=waiting&after=1").says("f2").lacks(">f1<")
	b.get("/admin/shows/club/line?state=waiting&after=1&pick=f3").says("Act for", "o1 (1 seat left)")
	act := func(fan, act, reason string) *shown {
		return b.post("/admin/shows/club/line?state=waiting&after=1", url.Values{"fan": {fan}, "act": {act}, "reason": {reason}, "opening": {"o1"}})
	}
	act("f3", "turn", "wheelchair space").is(http.StatusOK).at("/admin/shows/club/line?after=1&note=given&state=waiting")
	w.wantNewest("kim give_turn club/o1/f3: wheelchair space")
	act("f2", "remove", "asked by phone").says("Removed from the line.")
	act("f3", "front", " ").is(http.StatusUnprocessableEntity).says("Write down the reason", "Act for")
	act("f2", "front", "again").is(http.StatusConflict).says("not in line any more")
	act("f3", "restore", "kept").is(http.StatusConflict).says("There is no earlier place to restore.", `value="kept"`)
	act("nobody", "front", "x").is(http.StatusNotFound)
	act("f3", "explode", "x").is(http.StatusNotFound)
}

func TestForgedActsOfTheDeskAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	b := w.staff("kim")
	before := len(w.audits())
	for path, form := range map[string]url.Values{
		"policy":   rules("claim_window_s", "1", "reason", "x"),
		"seat":     {"id": {"test-x"}, "quantity": {"1"}, "why": {"returned"}},
		"announce": {"id": {"staff-x"}, "title": {"T"}, "body": {"B"}, "step": {"send"}},
		"line":     {"fan": {"f2"}, "act": {"front"}, "reason": {"x"}},
	} {
		req := b.request(http.MethodPost, "/admin/shows/club/"+path, form)
		req.Header.Set("Origin", "https://evil.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		b.do(req).is(http.StatusForbidden)
	}
	if n := len(w.audits()); n != before {
		t.Errorf("%d rows in the log, want %d", n, before)
	}
}

func TestAnOpeningsPageSaysWhatBecameOfEachTurn(t *testing.T) {
	t.Parallel()
	w := staged(t)
	b := w.staff("kim")
	b.get("/admin/shows/locksmith-tue/openings/C-02").says("Wave 1: 3 fans", "Wave 2: 1 fan", "seats held <b>1</b>", "declined <b>1</b>", "open <b>1</b>", "wants another tier")
	b.get("/admin/shows/locksmith-tue/openings/C-02/order").says("The order held.", "4 fans were told by 2 waves")
	b.get("/admin/shows/marlow-vance/openings/late-returns/order").says("No wave told anybody yet")
	page := b.get("/admin/shows/locksmith-tue").says("1 of 3 taken", "2 turns open until", "filled", "cancelled")
	if strings.Contains(page.body, "style=") {
		t.Error("an inline style, which the policy forbids")
	}
}
