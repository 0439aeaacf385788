package waitlist

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Mode says how an opening's fans are told.
type Mode string

// The modes of a policy.
const (
	ModeTurns    Mode = "turns"
	ModeEveryone Mode = "everyone"
)

// Strategy says how a wave reaches fans.
type Strategy string

// Auto is resolved to Write or Read when an opening is recorded.
const (
	Auto  Strategy = "auto"
	Write Strategy = "write"
	Read  Strategy = "read"
)

// Milli is a number in thousandths, exact where a float would not be: rates and
// fans per seat are compared and multiplied in Go and in SQL and must agree.
type Milli int64

// Float is the number as it stands in JSON.
func (m Milli) Float() float64 { return float64(m) / 1000 }

// MarshalJSON writes 50 for Milli(50000) and 0.5 for Milli(500).
func (m Milli) MarshalJSON() ([]byte, error) { return json.Marshal(m.Float()) }

// UnmarshalJSON refuses what has more than three decimals.
func (m *Milli) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	t := math.Round(f * 1000)
	// A number with three decimals is the float nearest to some t/1000.
	if t/1000 != f || math.Abs(t) > 1e15 {
		return fmt.Errorf("%v has more than three decimals", f)
	}
	*m = Milli(t)
	return nil
}

// Quiet is a daily time by the wall clock of a zone in which no turn opens.
type Quiet struct {
	// From and To are "HH:MM"; From after To spans midnight; equal: never quiet.
	From string `json:"from"`
	To   string `json:"to"`
	// Zone is an IANA name such as Europe/London.
	Zone string `json:"time_zone"`
}

// Policy is a show's rules, with the defaults filled in.
type Policy struct {
	Mode         Mode     `json:"mode"`
	FansPerSeat  Milli    `json:"fans_per_seat"`
	ClaimWindowS int      `json:"claim_window_s"`
	HoldS        int      `json:"hold_s"`
	ReleasePerS  Milli    `json:"release_per_s"`
	MaxMissed    int      `json:"max_missed"`
	Strategy     Strategy `json:"strategy"`
	QuietHours   *Quiet   `json:"quiet_hours"`
}

// DefaultPolicy is what a show gets that says nothing.
func DefaultPolicy() Policy {
	return Policy{
		Mode: ModeTurns, FansPerSeat: 1000, ClaimWindowS: 600, HoldS: 600,
		ReleasePerS: 50_000, MaxMissed: 3, Strategy: Auto,
	}
}

// PolicyChange is a policy as a caller sends it: what is omitted stays.
type PolicyChange struct {
	Mode         Opt[Mode]     `json:"mode"`
	FansPerSeat  Opt[Milli]    `json:"fans_per_seat"`
	ClaimWindowS Opt[int]      `json:"claim_window_s"`
	HoldS        Opt[int]      `json:"hold_s"`
	ReleasePerS  Opt[Milli]    `json:"release_per_s"`
	MaxMissed    Opt[int]      `json:"max_missed"`
	Strategy     Opt[Strategy] `json:"strategy"`
	QuietHours   Opt[*Quiet]   `json:"quiet_hours"`
}

// Apply returns p as changed; a null field takes its default.
func (c PolicyChange) Apply(p Policy) Policy {
	def := DefaultPolicy()
	c.Mode.Apply(&p.Mode, def.Mode)
	c.FansPerSeat.Apply(&p.FansPerSeat, def.FansPerSeat)
	c.ClaimWindowS.Apply(&p.ClaimWindowS, def.ClaimWindowS)
	c.HoldS.Apply(&p.HoldS, def.HoldS)
	c.ReleasePerS.Apply(&p.ReleasePerS, def.ReleasePerS)
	c.MaxMissed.Apply(&p.MaxMissed, def.MaxMissed)
	c.Strategy.Apply(&p.Strategy, def.Strategy)
	c.QuietHours.Apply(&p.QuietHours, def.QuietHours)
	return p
}

// Check returns an Error that names the first field out of bounds.
func (p Policy) Check() error {
	between := func(field string, v, low, high int) error {
		if v < low || v > high {
			return Wrong("policy."+field, "policy.%s must be %d to %d", field, low, high)
		}
		return nil
	}
	if p.Mode != ModeTurns && p.Mode != ModeEveryone {
		return Wrong("policy.mode", "policy.mode must be turns or everyone")
	}
	if p.Strategy != Auto && p.Strategy != Write && p.Strategy != Read {
		return Wrong("policy.strategy", "policy.strategy must be auto, write or read")
	}
	if p.FansPerSeat < 1000 || p.FansPerSeat > 100_000 {
		return Wrong("policy.fans_per_seat", "policy.fans_per_seat must be 1 to 100")
	}
	if p.ReleasePerS < 1 || p.ReleasePerS > 10_000_000 {
		return Wrong("policy.release_per_s", "policy.release_per_s must be above 0 (at least 0.001) and at most 10000")
	}
	if err := between("claim_window_s", p.ClaimWindowS, 1, 604_800); err != nil {
		return err
	}
	if err := between("hold_s", p.HoldS, 1, 86_400); err != nil {
		return err
	}
	if err := between("max_missed", p.MaxMissed, 0, 1000); err != nil {
		return err
	}
	return p.QuietHours.check()
}

// Choose resolves the strategy of an opening when it is recorded: the policy's,
// or by size: Read when more than threshold are waiting.
func Choose(s Strategy, waiting, threshold int64) Strategy {
	switch {
	case s == Write || s == Read:
		return s
	case waiting > threshold:
		return Read
	}
	return Write
}

// Window is how long a turn stays open.
func (p Policy) Window() time.Duration { return time.Duration(p.ClaimWindowS) * time.Second }

// Hold is how long a claim may take to be confirmed.
func (p Policy) Hold() time.Duration { return time.Duration(p.HoldS) * time.Second }
