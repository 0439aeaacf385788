package e2e_test

import (
	"slices"
	"testing"
	"time"

	"fanline/sim/providers"
)

// death is when instances were killed, or stood still: after one moment, and before
// another.
type death struct{ after, before, resumed time.Time }

// unrecorded is how long before a death a send may have been accepted that nobody knows
// of: a call and a twentieth of a second where Redis was told, a second where it died too
// and Postgres alone was, and what a busy machine takes.
const unrecorded = 3 * time.Second

// arrives is how long after a death a provider may take what was on its way: less than
// anybody sends it again.
const arrives = 5 * time.Second

// excuses says whether of two sends the second is due to the death: the first was
// accepted right before, or was under way, and not recorded. The calls that were under way
// in who stood still arrive when it goes on, and are not waited for any more.
func (d *death) excuses(first, second time.Time) bool {
	if !d.resumed.IsZero() && (justAfter(d.resumed, first) || justAfter(d.resumed, second)) {
		return true
	}
	return first.Before(d.before.Add(arrives)) && d.after.Sub(first) < unrecorded && second.After(d.after)
}

// wantOneAlert looks at what each of so many phones got: the alert, as one. Only what was
// accepted right before a death may have been sent again, once for each death.
func wantOneAlert(t *testing.T, log []providers.Got, phones int, deaths []death) (twice int) {
	t.Helper()
	got := map[string][]providers.Got{}
	for _, g := range log {
		if g.Accepted {
			got[g.Address] = append(got[g.Address], g)
		}
	}
	if len(got) != phones {
		t.Errorf("%d fans were told, want %d", len(got), phones)
	}
	again, reach := make([]int, len(deaths)), time.Duration(0)
	for address, sends := range got {
		left := slices.Clone(deaths)
		for i, g := range sends {
			if g.Key != sends[0].Key || g.Key == "" {
				t.Errorf("%s shows two alerts: %q and %q", address, sends[0].Key, g.Key)
			}
			if i == 0 {
				continue
			}
			twice++
			first := sends[i-1].At
			at := slices.IndexFunc(left, func(d death) bool { return d.excuses(first, g.At) })
			if at < 0 {
				t.Errorf("%s was sent to at %s and at %s, and nothing died right after the first", address, clock(first), clock(g.At))
				continue
			}
			again[at]++
			reach = max(reach, left[at].after.Sub(first))
			left[at] = death{} // excuses one
		}
	}
	for _, d := range deaths {
		t.Logf("a death at %s", clock(d.after))
	}
	t.Logf("%d sends of %d were made again, after %d deaths: %v; the first of them was accepted %v before", twice, phones, len(deaths), again, reach)
	return twice
}

func justAfter(moment, t time.Time) bool { return !t.Before(moment) && t.Sub(moment) < time.Second }

func clock(t time.Time) string { return t.Format("15:04:05.000") }
