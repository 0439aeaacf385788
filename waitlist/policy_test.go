package waitlist

import (
	"encoding/json"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMilliHoldsThreeDecimalsExactly(t *testing.T) {
	for _, c := range []struct {
		json string
		want Milli
	}{
		{"50", 50_000},
		{"0.5", 500},
		{"0.001", 1},
		{"10000", 10_000_000},
		{"1e3", 1_000_000},
		{"1.005", 1005},
		{"2.675", 2675},
		{"9999.999", 9_999_999},
		{"-1", -1000},
		{"1.000", 1000},
		{"1.0000", 1000},
	} {
		var m Milli
		if err := json.Unmarshal([]byte(c.json), &m); err != nil || m != c.want {
			t.Errorf("%s: %d, %v; want %d", c.json, m, err, c.want)
		}
	}
}

func TestMilliRefusesMoreThanThreeDecimals(t *testing.T) {
	for _, in := range []string{
		"0.0001", "1.2345", "1.0005", "50.000001", "1.0000000001", "0.0000000001", "9999.9999999",
		"1e300", "-1e300", "1e-9", `"50"`, "true", "[]", "{}", "50.", "",
	} {
		m := Milli(77)
		if err := json.Unmarshal([]byte(in), &m); err == nil {
			t.Errorf("%q was read as %d", in, m)
		}
	}
}

func TestMilliComesBackFromItsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Milli(rapid.Int64Range(-1e12, 1e12).Draw(t, "milli"))
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back Milli
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Fatalf("%d became %s became %d, %v", m, b, back, err)
		}
		exact := strconv.FormatInt(int64(m), 10) + "e-3"
		if err := json.Unmarshal([]byte(exact), &back); err != nil || back != m {
			t.Fatalf("%s became %d, %v", exact, back, err)
		}
	})
}

func TestPolicyCheckNamesTheFieldOutOfBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Policy)
		field  string
	}{
		{"the default", func(*Policy) {}, ""},
		{"everyone", func(p *Policy) { p.Mode = ModeEveryone }, ""},
		{"no mode", func(p *Policy) { p.Mode = "" }, "policy.mode"},
		{"mode", func(p *Policy) { p.Mode = "lottery" }, "policy.mode"},
		{"write", func(p *Policy) { p.Strategy = Write }, ""},
		{"read", func(p *Policy) { p.Strategy = Read }, ""},
		{"strategy", func(p *Policy) { p.Strategy = "push" }, "policy.strategy"},
		{"fans low", func(p *Policy) { p.FansPerSeat = 999 }, "policy.fans_per_seat"},
		{"fans most", func(p *Policy) { p.FansPerSeat = 100_000 }, ""},
		{"fans high", func(p *Policy) { p.FansPerSeat = 100_001 }, "policy.fans_per_seat"},
		{"no rate", func(p *Policy) { p.ReleasePerS = 0 }, "policy.release_per_s"},
		{"rate low", func(p *Policy) { p.ReleasePerS = -1 }, "policy.release_per_s"},
		{"rate least", func(p *Policy) { p.ReleasePerS = 1 }, ""},
		{"rate most", func(p *Policy) { p.ReleasePerS = 10_000_000 }, ""},
		{"rate high", func(p *Policy) { p.ReleasePerS = 10_000_001 }, "policy.release_per_s"},
		{"window low", func(p *Policy) { p.ClaimWindowS = 0 }, "policy.claim_window_s"},
		{"window least", func(p *Policy) { p.ClaimWindowS = 1 }, ""},
		{"window most", func(p *Policy) { p.ClaimWindowS = 604_800 }, ""},
		{"window high", func(p *Policy) { p.ClaimWindowS = 604_801 }, "policy.claim_window_s"},
		{"hold low", func(p *Policy) { p.HoldS = 0 }, "policy.hold_s"},
		{"hold most", func(p *Policy) { p.HoldS = 86_400 }, ""},
		{"hold high", func(p *Policy) { p.HoldS = 86_401 }, "policy.hold_s"},
		{"never dormant", func(p *Policy) { p.MaxMissed = 0 }, ""},
		{"missed low", func(p *Policy) { p.MaxMissed = -1 }, "policy.max_missed"},
		{"missed most", func(p *Policy) { p.MaxMissed = 1000 }, ""},
		{"missed high", func(p *Policy) { p.MaxMissed = 1001 }, "policy.max_missed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := DefaultPolicy()
			c.change(&p)
			wantWrong(t, p.Check(), c.field)
		})
	}
}

func TestPolicyChangeLeavesWhatIsOmittedAndTakesDefaultsForNull(t *testing.T) {
	quiet := &Quiet{From: "22:00", To: "07:00", Zone: "Europe/London"}
	start := Policy{ModeEveryone, 2000, 60, 61, 1000, 9, Read, quiet}
	def := DefaultPolicy()
	for _, c := range []struct {
		json string
		want func(*Policy)
	}{
		{`{}`, func(*Policy) {}},
		{`{"mode": "turns"}`, func(p *Policy) { p.Mode = ModeTurns }},
		{`{"mode": null}`, func(p *Policy) { p.Mode = def.Mode }},
		{`{"fans_per_seat": 1.5}`, func(p *Policy) { p.FansPerSeat = 1500 }},
		{`{"fans_per_seat": null}`, func(p *Policy) { p.FansPerSeat = def.FansPerSeat }},
		{`{"claim_window_s": 5, "hold_s": null}`, func(p *Policy) { p.ClaimWindowS, p.HoldS = 5, def.HoldS }},
		{`{"claim_window_s": null, "hold_s": 7}`, func(p *Policy) { p.ClaimWindowS, p.HoldS = def.ClaimWindowS, 7 }},
		{`{"release_per_s": 0.001}`, func(p *Policy) { p.ReleasePerS = 1 }},
		{`{"release_per_s": null}`, func(p *Policy) { p.ReleasePerS = def.ReleasePerS }},
		{`{"max_missed": 0}`, func(p *Policy) { p.MaxMissed = 0 }},
		{`{"max_missed": null, "strategy": null}`, func(p *Policy) { p.MaxMissed, p.Strategy = def.MaxMissed, def.Strategy }},
		{`{"strategy": "write"}`, func(p *Policy) { p.Strategy = Write }},
		{`{"quiet_hours": null}`, func(p *Policy) { p.QuietHours = nil }},
		{`{"quiet_hours": {"from": "01:00", "to": "02:00", "time_zone": "UTC"}}`, func(p *Policy) {
			p.QuietHours = &Quiet{"01:00", "02:00", "UTC"}
		}},
	} {
		var change PolicyChange
		if err := json.Unmarshal([]byte(c.json), &change); err != nil {
			t.Fatalf("%s: %v", c.json, err)
		}
		want := start
		c.want(&want)
		if d := cmp.Diff(want, change.Apply(start)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.json, d)
		}
	}
}

func TestChangeRefusesFieldsItDoesNotKnowHoweverDeep(t *testing.T) {
	for _, in := range []string{
		`{"policy": {"release_per_sec": 5}}`,
		`{"policy": {"quiet_hours": {"from": "01:00", "to": "02:00", "time_zone": "UTC", "days": 1}}}`,
		`{"templates": {"turn": {"en": {"title": "a", "body": "b", "footer": "c"}}}}`,
		`{"policy": {"mode": 5}}`,
		`{"policy": []}`,
		`{"starts_at": "tomorrow"}`,
		`{"paused": "yes"}`,
	} {
		var change ShowChange
		if err := json.Unmarshal([]byte(in), &change); err == nil {
			t.Errorf("%s was taken as %+v", in, change)
		}
	}
}

func TestOpeningOverridesOnlyWhatItSends(t *testing.T) {
	p := DefaultPolicy()
	if d := cmp.Diff(p, OpeningPolicy{}.Over(p)); d != "" {
		t.Errorf("nothing sent (-want +got):\n%s", d)
	}
	want := p
	want.Mode, want.FansPerSeat, want.ClaimWindowS, want.HoldS, want.Strategy = ModeEveryone, 2000, 5, 6, Read
	got := OpeningPolicy{ptr(ModeEveryone), ptr(Milli(2000)), ptr(5), ptr(6), ptr(Read)}.Over(p)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("all sent (-want +got):\n%s", d)
	}
	if got.Window() != 5*time.Second || got.Hold() != 6*time.Second {
		t.Errorf("window %v, hold %v", got.Window(), got.Hold())
	}
}

func TestAutoIsReadWhenMoreThanTheThresholdWait(t *testing.T) {
	for _, c := range []struct {
		asked   Strategy
		waiting int64
		want    Strategy
	}{{Auto, 0, Write}, {Auto, 10_000, Write}, {Auto, 10_001, Read}, {Write, 2_000_000, Write}, {Read, 0, Read}} {
		if got := Choose(c.asked, c.waiting, 10_000); got != c.want {
			t.Errorf("%s with %d waiting: %s, want %s", c.asked, c.waiting, got, c.want)
		}
	}
}

func TestDemandIsExactForEveryBoundOfThePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.IntRange(0, MaxQuantity).Draw(t, "free")
		perSeat := Milli(rapid.Int64Range(1000, 100_000).Draw(t, "per seat"))
		live := rapid.IntRange(0, 20_000_000).Draw(t, "live")
		want := new(big.Int).Mul(big.NewInt(int64(free)), big.NewInt(int64(perSeat)))
		want.Div(want.Add(want, big.NewInt(999)), big.NewInt(1000)).Sub(want, big.NewInt(int64(live)))
		if want.Sign() < 0 {
			want.SetInt64(0)
		}
		if got := Demand(free, perSeat, live); int64(got) != want.Int64() {
			t.Fatalf("demand %d, want %v", got, want)
		}
	})
}
