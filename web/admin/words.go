package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fanline/waitlist"
)

// count writes a number with separators: 2,000,000.
func count(n any) string {
	s := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "\u2212", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// plural writes "1 seat" and "2 seats".
func plural(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return count(n) + " " + many
}

// minutes writes a wait in whole minutes, rounded up.
func minutes(d time.Duration) string {
	return plural(int((d+time.Minute-1)/time.Minute), "minute", "minutes")
}

// lasting writes a length such as 600 s as people do.
func lasting(d time.Duration) string {
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return plural(int(d/(24*time.Hour)), "day", "days")
	case d >= time.Hour && d%time.Hour == 0:
		return plural(int(d/time.Hour), "hour", "hours")
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	}
	return count(int(d/time.Second)) + " s"
}

// milli writes thousandths without needless zeros.
func milli(m waitlist.Milli) string { return strconv.FormatFloat(m.Float(), 'f', -1, 64) }

// stateWords is an entry's state as a word.
func stateWords(e waitlist.Entry) string {
	switch {
	case e.State == waitlist.Waiting && e.Dormant:
		return "dormant"
	case e.State == waitlist.Holding:
		return "holding seats"
	case e.State == waitlist.Left:
		return "left"
	}
	return string(e.State)
}

func tierWords(tier string) string {
	if tier == "" {
		return "any"
	}
	return tier
}

// reasonWords is why seats are free.
func reasonWords(reason string) string { return strings.ReplaceAll(reason, "_", " ") }

// day writes a date, clock a moment of it, both as they read in a zone.
func day(t time.Time, zone *time.Location) string { return t.In(zone).Format("Mon 2 Jan 2006, 15:04") }

func clock(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2 Jan 2006, 15:04:05")
}

// exact is clock to the millisecond.
func exact(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2 Jan 2006, 15:04:05.000")
}

// exactOn is exact, without the date where that is the date of another time.
func exactOn(other, t time.Time, zone *time.Location) string {
	if other, t = other.In(zone), t.In(zone); other.YearDay() == t.YearDay() && other.Year() == t.Year() {
		return t.Format("15:04:05.000")
	}
	return exact(t, zone)
}

// changeWords is what happened to an entry, from the word in its log.
func changeWords(c waitlist.Change) string {
	switch c.What {
	case "moved":
		return "moved by staff"
	case "given":
		return "given a next turn by staff"
	case "changed":
		return "party or tier changed"
	case "woke":
		return "woke by acting"
	case "dormant":
		return "fell dormant after turns missed in a row"
	case "claimed":
		return "took their turn: seats held"
	case "hold lapsed":
		return "hold ran out, back in line"
	case "released":
		return "gave the seats back"
	case "left":
		return "left the line"
	case "removed":
		return "removed by staff"
	case "rejoined":
		return "joined again, at the tail"
	}
	return c.What
}

// actWords is an act in the audit log.
func actWords(a waitlist.AuditAct) string {
	switch a {
	case waitlist.AuditLogin:
		return "logged in"
	case waitlist.AuditLogout:
		return "logged out"
	case waitlist.AuditPause:
		return "paused the show"
	case waitlist.AuditResume:
		return "lifted the pause"
	case waitlist.AuditMoveFront:
		return "moved to the front"
	case waitlist.AuditRestore:
		return "gave back the earlier place"
	case waitlist.AuditRemove:
		return "removed from the line"
	case waitlist.AuditGiveTurn:
		return "gave the next turn"
	case waitlist.AuditCancelOpening:
		return "cancelled the opening"
	case waitlist.AuditPolicy:
		return "changed the policy"
	case waitlist.AuditTestSeat:
		return "freed a test seat"
	case waitlist.AuditAnnounce:
		return "announced to the line"
	case waitlist.AuditJobs:
		return "acted on jobs"
	}
	return string(a)
}

// skippedWords says whom a decision walked past.
func skippedWords(skipped map[waitlist.Reason]int) string {
	words := map[waitlist.Reason][2]string{
		waitlist.TierMismatch: {"wants another tier", "want another tier"},
		waitlist.PartyTooBig:  {"needs more seats together than were left", "need more seats together than were left"},
		waitlist.IsDormant:    {"is dormant", "are dormant"},
		waitlist.Busy:         {"has another turn or a hold", "have another turn or a hold"},
		waitlist.HasLeft:      {"had left", "had left"},
		waitlist.WasRemoved:   {"was removed", "were removed"},
	}
	var parts []string
	for _, r := range []waitlist.Reason{
		waitlist.PartyTooBig, waitlist.TierMismatch, waitlist.Busy, waitlist.IsDormant,
		waitlist.HasLeft, waitlist.WasRemoved,
	} {
		if n := skipped[r]; n == 1 {
			parts = append(parts, "1 "+words[r][0])
		} else if n > 1 {
			parts = append(parts, count(n)+" "+words[r][1])
		}
	}
	if len(parts) == 0 {
		return "nobody"
	}
	return strings.Join(parts, "; ")
}

// policyWords are a show's rules, for badges.
func policyWords(s *waitlist.Show) []badge {
	p := s.Policy
	strategy := badge{"strategy", string(s.Strategy), ""}
	if p.Strategy == waitlist.Auto {
		strategy.After = ", by the number waiting"
	}
	badges := []badge{
		strategy,
		{"mode", string(p.Mode), ""},
		{"window", lasting(p.Window()), ""},
		{"hold", lasting(p.Hold()), ""},
		{"pace", milli(p.ReleasePerS) + "/s", ""},
	}
	if p.FansPerSeat != 1000 {
		badges = append(badges, badge{"fans per seat", milli(p.FansPerSeat), ""})
	}
	if q := p.QuietHours; q != nil && q.From != q.To {
		badges = append(badges, badge{"quiet", q.From + " to " + q.To, " " + q.Zone})
	}
	return badges
}

// badge is a rule: its name, its value, and what to add.
type badge struct{ Name, Value, After string }

// limited cuts a page of limit+1 rows to limit and says whether there are more.
func limited[T any](rows []T, limit int) ([]T, bool) {
	if len(rows) > limit {
		return slices.Clip(rows[:limit]), true
	}
	return rows, false
}
