package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fanline/waitlist"
)

type policyPage struct {
	Form  policyForm
	Wrong string // the field that was refused
	// Asked: the page says what these rules would do, and offers to save them.
	Asked   bool
	Changes []ruleChange
	Now     []string // what the rules in force do
	Then    []string // and these
	Later   []string // when they would hold
	Was     string
	Reason  string
	Modes   []choice
	Ways    []choice
}

// policyForm is a policy as it is typed.
type policyForm struct {
	Mode, FansPerSeat, Window, Hold, Rate, MaxMissed, Strategy, From, To, Zone string
}

// ruleChange is a rule as it is and as it would be.
type ruleChange struct{ Name, From, To string }

func formOf(p waitlist.Policy, zone string) policyForm {
	f := policyForm{
		Mode: string(p.Mode), FansPerSeat: milli(p.FansPerSeat), Window: strconv.Itoa(p.ClaimWindowS), Hold: strconv.Itoa(p.HoldS),
		Rate: milli(p.ReleasePerS), MaxMissed: strconv.Itoa(p.MaxMissed), Strategy: string(p.Strategy), Zone: zone,
	}
	if q := p.QuietHours; q != nil {
		f.From, f.To, f.Zone = q.From, q.To, q.Zone
	}
	return f
}

func typedForm(v url.Values) policyForm {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	return policyForm{
		Mode: get("mode"), FansPerSeat: get("fans_per_seat"), Window: get("claim_window_s"), Hold: get("hold_s"),
		Rate: get("release_per_s"), MaxMissed: get("max_missed"), Strategy: get("strategy"),
		From: get("quiet_from"), To: get("quiet_to"), Zone: get("quiet_zone"),
	}
}

// policy reads what was typed, or says which field is wrong.
func (f policyForm) policy() (p waitlist.Policy, err error) {
	p.Mode, p.Strategy = waitlist.Mode(f.Mode), waitlist.Strategy(f.Strategy)
	for _, x := range []struct {
		field, text string
		into        any
	}{
		{"fans_per_seat", f.FansPerSeat, &p.FansPerSeat},
		{"claim_window_s", f.Window, &p.ClaimWindowS},
		{"hold_s", f.Hold, &p.HoldS},
		{"release_per_s", f.Rate, &p.ReleasePerS},
		{"max_missed", f.MaxMissed, &p.MaxMissed},
	} {
		if json.Unmarshal([]byte(x.text), x.into) != nil || x.text == "null" {
			return p, waitlist.Wrong("policy."+x.field, "%s must be a number", ruleName(x.field))
		}
	}
	if f.From != "" || f.To != "" {
		p.QuietHours = &waitlist.Quiet{From: f.From, To: f.To, Zone: f.Zone}
	}
	return p, p.Check()
}

// ruleName is a policy's field as the form calls it.
func ruleName(field string) string {
	switch field {
	case "fans_per_seat":
		return "fans per seat"
	case "claim_window_s":
		return "the time to take it"
	case "hold_s":
		return "the time to pay"
	case "release_per_s":
		return "the pace"
	case "max_missed":
		return "missed turns in a row"
	}
	return field
}

// policy shows the rules, and with the form's fields in the address what these would
// do.
func (a *Admin) policy(w http.ResponseWriter, r *http.Request) error {
	return a.policyPage(w, r, r.URL.Query(), nil)
}

func (a *Admin) policyPage(w http.ResponseWriter, r *http.Request, typed url.Values, failed error) error {
	v := &view{Nav: "shows", Tab: "policy"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	body := policyPage{
		Form: formOf(v.Show.Policy, v.Show.TimeZone), Now: effects(v.Show, v.Show.Policy), Was: printOf(v.Show.Policy),
		Reason: typed.Get("reason"),
	}
	if typed.Has("mode") {
		body.Form = typedForm(typed)
		p, err := body.Form.policy()
		if err != nil && failed == nil {
			if err := v.failed(err); err != nil {
				return err
			}
		}
		if err == nil {
			body.Asked, body.Changes = true, changesOf(v.Show.Policy, p)
			body.Then, body.Later = effects(v.Show, p), laterWords(body.Changes, v.Show.OpeningsOpen)
		}
	}
	body.Modes = chosen(body.Form.Mode, choice{"turns", "turns: as many as there are seats", false}, choice{"everyone", "everyone: first come, first served", false})
	body.Ways = chosen(body.Form.Strategy, choice{"auto", "auto: by the number waiting", false},
		choice{"write", "write: a message row for each fan", false}, choice{"read", "read: worked out when a fan looks", false})
	v.Title, v.Body = "Policy · "+v.Show.Name, body
	return a.render(w, r, "policy", v)
}

func chosen(value string, list ...choice) []choice {
	for i := range list {
		list[i].Chosen = list[i].Value == value
	}
	return list
}

// printOf tells two policies apart.
func printOf(p waitlist.Policy) string {
	b, _ := json.Marshal(p) // never fails
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// setPolicy saves what was looked at, unless the rules changed meanwhile.
func (a *Admin) setPolicy(w http.ResponseWriter, r *http.Request) error {
	show, err := a.readShow(r.Context(), param(r, "show"))
	if err != nil {
		return err
	}
	p, err := typedForm(r.PostForm).policy()
	changes := changesOf(show.Policy, p)
	switch {
	case err != nil:
	case show.Cancelled:
		err = waitlist.Refuse(waitlist.Closed, "The show was cancelled; its rules hold for nothing.")
	case r.PostForm.Get("was") != printOf(show.Policy):
		err = waitlist.Refuse(waitlist.Conflict, "Somebody changed the rules meanwhile. Look at what would change now, and save again.")
	case len(changes) == 0:
		err = waitlist.Refuse(waitlist.Conflict, "These are the rules in force already.")
	default:
		audit := waitlist.Audit{Act: waitlist.AuditPolicy, ShowID: show.ID, Reason: r.PostForm.Get("reason")}
		err = a.acts.do(r.Context(), audit, func(ctx context.Context, line lineWriter, reason string) error {
			audit.Who, audit.Reason = whoOf(ctx), changeSentence(changes)+": "+reason
			_, _, err := line.PutShow(waitlist.WithAudit(ctx, audit), show.ID, waitlist.ShowChange{Policy: waitlist.Some(changeOf(show.Policy, p))})
			return err
		})
	}
	if err != nil {
		return a.policyPage(w, r, r.PostForm, err)
	}
	return done(w, r, link("shows", show.ID, "policy"), "policy")
}

// changeOf holds the fields that differ, so that others stay as they are.
func changeOf(from, to waitlist.Policy) (c waitlist.PolicyChange) {
	differ(&c.Mode, from.Mode, to.Mode)
	differ(&c.FansPerSeat, from.FansPerSeat, to.FansPerSeat)
	differ(&c.ClaimWindowS, from.ClaimWindowS, to.ClaimWindowS)
	differ(&c.HoldS, from.HoldS, to.HoldS)
	differ(&c.ReleasePerS, from.ReleasePerS, to.ReleasePerS)
	differ(&c.MaxMissed, from.MaxMissed, to.MaxMissed)
	differ(&c.Strategy, from.Strategy, to.Strategy)
	if quietWords(from.QuietHours) != quietWords(to.QuietHours) {
		c.QuietHours = waitlist.Some(to.QuietHours)
	}
	return c
}

func differ[T comparable](o *waitlist.Opt[T], from, to T) {
	if from != to {
		*o = waitlist.Some(to)
	}
}

// changesOf is what differs, in words.
func changesOf(from, to waitlist.Policy) []ruleChange {
	var list []ruleChange
	add := func(name, a, b string) {
		if a != b {
			list = append(list, ruleChange{name, a, b})
		}
	}
	add("mode", string(from.Mode), string(to.Mode))
	add("fans per seat", milli(from.FansPerSeat), milli(to.FansPerSeat))
	add("time to take it", lasting(from.Window()), lasting(to.Window()))
	add("time to pay", lasting(from.Hold()), lasting(to.Hold()))
	add("pace", milli(from.ReleasePerS)+"/s", milli(to.ReleasePerS)+"/s")
	add("missed turns", strconv.Itoa(from.MaxMissed), strconv.Itoa(to.MaxMissed))
	add("strategy", string(from.Strategy), string(to.Strategy))
	add("quiet hours", quietWords(from.QuietHours), quietWords(to.QuietHours))
	return list
}

func quietWords(q *waitlist.Quiet) string {
	if q == nil || q.From == q.To {
		return "none"
	}
	return q.From + " to " + q.To + " " + q.Zone
}

func changeSentence(changes []ruleChange) string {
	words := make([]string, len(changes))
	for i, c := range changes {
		words[i] = c.Name + " " + c.From + " → " + c.To
	}
	return strings.Join(words, ", ")
}

// exampleSeats are how many seats the effects speak of.
const exampleSeats = 100

// effects says what rules do, in sentences, for the line as it is now.
func effects(s *waitlist.Show, p waitlist.Policy) []string {
	waiting := int(min(s.Waiting, 1<<31-1))
	list := []string{oneSeat(p), manySeats(p, waiting)}
	if p.Mode == waitlist.ModeTurns {
		list = append(list, nobodyTakes(p, waiting))
	}
	list = append(list, "Whoever takes seats has "+lasting(p.Hold())+" to pay; then the seats go on.")
	switch {
	case p.Mode == waitlist.ModeEveryone:
	case p.MaxMissed == 0:
		list = append(list, "Fans who miss turns are asked again and again, however many they miss.")
	default:
		list = append(list, "A fan who misses "+plural(p.MaxMissed, "turn", "turns")+" in a row is dormant, which means skipped, until they act again.")
	}
	if q := p.QuietHours; q != nil && q.From != q.To {
		list = append(list, "No turn opens from "+q.From+" to "+q.To+" ("+q.Zone+").")
	}
	return list
}

func oneSeat(p waitlist.Policy) string {
	switch {
	case p.Mode == waitlist.ModeEveryone:
		return "A freed seat is told to everyone in line, from the front on; whoever takes it first has it."
	case p.FansPerSeat == 1000:
		return "A freed seat is offered to one fan, the first in line who can use it."
	}
	return "A freed seat is offered to " + plural(waitlist.Demand(1, p.FansPerSeat, 0), "fan", "fans") + " at a time; whoever takes it first has it."
}

// manySeats is the effect in one sentence.
func manySeats(p waitlist.Policy, waiting int) string {
	fans := waiting
	if p.Mode == waitlist.ModeTurns {
		fans = min(waiting, waitlist.Demand(exampleSeats, p.FansPerSeat, 0))
	}
	took := time.Duration(float64(fans) / p.ReleasePerS.Float() * float64(time.Second))
	return fmt.Sprintf("When %d seats are freed at once, about %s within %s; each has %s to take it; the line moves at %s a second.",
		exampleSeats, plural(fans, "fan hears", "fans hear"), roughly(took), lasting(p.Window()), milli(p.ReleasePerS))
}

// nobodyTakes is how far seats go that nobody takes.
func nobodyTakes(p waitlist.Policy, waiting int) string {
	rounds := max(1, int(time.Hour/max(p.Window(), time.Second)))
	fans := min(waiting, waitlist.Demand(exampleSeats, p.FansPerSeat, 0)*rounds, int(3600*p.ReleasePerS.Float()))
	return fmt.Sprintf("If nobody took any of them, they would have been offered to about %s after an hour.", plural(fans, "fan", "fans"))
}

// roughly writes a length as people estimate it.
func roughly(d time.Duration) string {
	switch {
	case d <= time.Second:
		return "a second"
	case d < 90*time.Second:
		return plural(int((d+time.Second-1)/time.Second), "second", "seconds")
	case d < 2*time.Hour:
		return plural(int((d+time.Minute-1)/time.Minute), "minute", "minutes")
	case d < 48*time.Hour:
		return plural(int((d+time.Hour-1)/time.Hour), "hour", "hours")
	}
	return plural(int((d+24*time.Hour-1)/(24*time.Hour)), "day", "days")
}

// laterWords says from when changes hold.
func laterWords(changes []ruleChange, open int) []string {
	frozen, live := false, false
	for _, c := range changes {
		switch c.Name {
		case "pace", "missed turns", "quiet hours":
			live = true
		default:
			frozen = true
		}
	}
	var list []string
	if live {
		list = append(list, "Pace, missed turns and quiet hours hold from the next decision on.")
	}
	if frozen && open > 0 {
		list = append(list, "The "+plural(open, "opening that is open keeps", "openings that are open keep")+
			" the mode, times, fans per seat and strategy recorded with them; the rest holds for openings from now on.")
	}
	return append(list, "What fans were shown stays as it is.")
}
