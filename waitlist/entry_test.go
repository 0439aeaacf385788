package waitlist

import (
	"strings"
	"testing"
	"time"
)

func TestJoinCheckNamesTheFieldThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Join)
		field  string
	}{
		{"good", func(*Join) {}, ""},
		{"largest party, longest tier", func(j *Join) { j.Party, j.Tier = MaxParty, strings.Repeat("é", MaxTier) }, ""},
		{"no fan", func(j *Join) { j.FanID = "" }, "fan_id"},
		{"fan", func(j *Join) { j.FanID = "a b" }, "fan_id"},
		{"no party", func(j *Join) { j.Party = 0 }, "party_size"},
		{"negative party", func(j *Join) { j.Party = -1 }, "party_size"},
		{"party too large", func(j *Join) { j.Party = MaxParty + 1 }, "party_size"},
		{"tier too long", func(j *Join) { j.Tier = strings.Repeat("x", MaxTier+1) }, "tier"},
		{"tier with a tab", func(j *Join) { j.Tier = "a\tb" }, "tier"},
		{"joined too late", func(j *Join) { j.JoinedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }, "joined_at"},
	} {
		j := Join{FanID: "fan@example.org", Party: 1}
		c.change(&j)
		t.Run(c.name, func(t *testing.T) { wantWrong(t, j.Check(), c.field) })
	}
}

func TestEntryChangeCheckNamesTheFieldThatIsWrong(t *testing.T) {
	long := strings.Repeat("x", MaxReason+1)
	for _, c := range []struct {
		name  string
		c     EntryChange
		field string
	}{
		{"party", EntryChange{Party: ptr(2)}, ""},
		{"tier to any", EntryChange{Tier: ptr("")}, ""},
		{"front", EntryChange{Move: MoveFront, Reason: "promised by phone"}, ""},
		{"restore", EntryChange{Move: MoveRestore, Reason: "moved by mistake"}, ""},
		{"nothing", EntryChange{Reason: "why"}, "party_size"},
		{"party of nobody", EntryChange{Party: ptr(0)}, "party_size"},
		{"party too large", EntryChange{Party: ptr(MaxParty + 1)}, "party_size"},
		{"tier", EntryChange{Tier: ptr(strings.Repeat("x", MaxTier+1))}, "tier"},
		{"move", EntryChange{Move: "back", Reason: "why"}, "move"},
		{"front without a reason", EntryChange{Move: MoveFront}, "reason"},
		{"restore without a reason", EntryChange{Move: MoveRestore}, "reason"},
		{"reason too long", EntryChange{Move: MoveFront, Reason: long}, "reason"},
		{"reason too long without a move", EntryChange{Party: ptr(1), Reason: long}, "reason"},
	} {
		t.Run(c.name, func(t *testing.T) { wantWrong(t, c.c.Check(), c.field) })
	}
}

func TestOnlyWaitingAndAwakeEntriesAreActive(t *testing.T) {
	for _, s := range []State{Waiting, Holding, Bought, Left, Removed} {
		for _, dormant := range []bool{false, true} {
			e := Entry{State: s, Dormant: dormant}
			if e.Active() != (s == Waiting && !dormant) {
				t.Errorf("%s, dormant %v: active is %v", s, dormant, e.Active())
			}
		}
		if s.InLine() != (s == Waiting || s == Holding) {
			t.Errorf("%s: in line is %v", s, s.InLine())
		}
	}
}

func TestTierOfNothingMatchesAny(t *testing.T) {
	for _, c := range []struct {
		opening, entry string
		want           bool
	}{{"", "", true}, {"", "A", true}, {"A", "", true}, {"A", "A", true}, {"A", "B", false}, {"A", "a", false}} {
		o := Opening{Tier: c.opening}
		if got := o.Takes(c.entry); got != c.want {
			t.Errorf("an opening of %q takes an entry of %q: %v", c.opening, c.entry, got)
		}
	}
}
