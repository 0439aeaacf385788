package admin

import (
	"strings"
	"testing"
	"time"

	"fanline/waitlist"
)

// reasons are those of the contract.
var reasons = []waitlist.Reason{
	waitlist.NotOnList, waitlist.HasLeft, waitlist.Behind, waitlist.TierMismatch, waitlist.PartyTooBig, waitlist.Busy,
	waitlist.IsDormant, waitlist.QuietHours, waitlist.IsPaused, waitlist.TurnUpcoming, waitlist.TurnOpen, waitlist.TurnLapsed,
	waitlist.TurnDeclined, waitlist.IsClaimed, waitlist.IsConfirmed, waitlist.HoldReleased, waitlist.HoldLapsed,
	waitlist.EndFilled, waitlist.EndExhausted, waitlist.EndCancelled, waitlist.SalesClosed, waitlist.WasRemoved,
	waitlist.IsUnreachable,
}

func TestEveryReasonHasItsOwnSentence(t *testing.T) {
	t.Parallel()
	seen := map[string]waitlist.Reason{}
	for _, r := range reasons {
		for _, state := range []waitlist.VerdictState{waitlist.VerdictNone, waitlist.VerdictOver} {
			a := explain(asked{verdict: waitlist.Verdict{Reason: r, State: state}, show: &waitlist.Show{}, zone: time.UTC})
			if a.Lead == "" || a.Lead == "Not known" || a.Text == "" || strings.Contains(a.Text, string(r)+"_") {
				t.Errorf("%s: %+v", r, a)
			}
			if other, ok := seen[a.Text]; ok && other != r {
				t.Errorf("%s and %s say the same: %s", r, other, a.Text)
			}
			if spotName(a.Shows) == string(a.Shows) && a.Shows != waitlist.SpotBought && a.Shows != waitlist.SpotWaiting && a.Shows != waitlist.SpotDormant {
				t.Errorf("%s has the colour of no state: %s", r, a.Shows)
			}
			seen[a.Text] = r
		}
	}
}

func TestAnswersNameWhatDecided(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Dublin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 7, 3, 19, 30, 0, 0, time.UTC)
	ahead := int64(1204)
	show := &waitlist.Show{
		Policy:   waitlist.Policy{QuietHours: &waitlist.Quiet{From: "22:00", To: "08:00", Zone: "Europe/Dublin"}},
		StartsAt: at,
	}
	open := waitlist.Opening{Tier: "stalls", State: waitlist.OpeningOpen}
	for _, c := range []struct {
		q    asked
		want []string
	}{
		{asked{verdict: waitlist.Verdict{Reason: waitlist.Behind, Ahead: &ahead}}, []string{"1,204 fans are ahead"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.Behind}}, []string{"first in line"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.PartyTooBig}, entry: waitlist.Entry{Party: 4}, sameParty: true, opening: open}, []string{"want 4 seats together", "its next decision"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.PartyTooBig}, entry: waitlist.Entry{Party: 4}}, []string{"wanted more seats together", "for other openings"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.TierMismatch}, entry: waitlist.Entry{Tier: "standing"}, sameParty: true, opening: open}, []string{"standing", "stalls"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.TurnOpen, ClosesAt: &at}}, []string{"open until 3 Jul 2026, 20:30:00"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.QuietHours}}, []string{"22:00 to 08:00, Europe/Dublin"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.SalesClosed}}, []string{"3 Jul 2026, 20:30:00"}},
		{asked{verdict: waitlist.Verdict{Reason: waitlist.HasLeft}, entry: waitlist.Entry{State: waitlist.Bought}}, []string{"bought seats of this show already"}},
	} {
		c.q.show, c.q.zone = show, zone
		text := explain(c.q).Text
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q does not say %q", c.q.verdict.Reason, text, want)
			}
		}
	}
}

func TestNumbersHaveSeparators(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 2_000_000: "2,000,000", -1234: "\u22121,234"} {
		if got := count(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	if got := plural(1, "seat", "seats") + ", " + plural(1200, "seat", "seats"); got != "1 seat, 1,200 seats" {
		t.Error(got)
	}
}
