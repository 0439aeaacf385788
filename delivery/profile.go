package delivery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fanline/notifier"
)

// BadInput is something a caller sent that is not as it must be, with what to do
// about it.
type BadInput struct{ Field, Detail string }

func (e *BadInput) Error() string { return e.Detail }

func bad(field, format string, args ...any) error {
	return &BadInput{field, field + " " + fmt.Sprintf(format, args...)}
}

// Profile is a fan's contact and preferences as stored. The zero value is not the
// default: DefaultProfile is.
type Profile struct {
	Email    string // as typed; "" is none
	Phone    string // E.164; "" is none
	Locale   string // as "de-CH"; "" is English
	TimeZone string // an IANA name; "" is the show's
	// Channels are the words of the channels by kind; a kind without a list has the
	// default, one with an empty list none.
	Channels    map[notifier.Kind][]string
	Quiet       *QuietHours
	TurnAtNight bool
	DigestHour  *int // of the day; nil: no digest

	// Read alone: what the owners of the addresses have opted out of, by channel and
	// kind; the kind "" is everything.
	OptedOut map[notifier.Channel][]notifier.Kind
}

// DefaultProfile is that of a fan of whom nothing is known.
func DefaultProfile() Profile { return Profile{TurnAtNight: true} }

// Words are the channels' words of a kind, with the default filled in.
func (p *Profile) Words(k notifier.Kind) []string {
	if words, ok := p.Channels[k]; ok {
		return words
	}
	return notifier.DefaultChannels(k)
}

// SetChannels chooses the words of a kind; nil is the default.
func (p *Profile) SetChannels(k notifier.Kind, words []string) error {
	field := "channels." + string(k)
	if !slices.Contains(notifier.PreferenceKinds, k) {
		return bad(field, "is no kind; the kinds are turn, announcement and message")
	}
	chosen := map[notifier.Kind][]string{}
	for kind, list := range p.Channels {
		chosen[kind] = list
	}
	delete(chosen, k)
	if words != nil {
		for i := range words {
			if _, ok := notifier.ChannelsOf(words[i : i+1]); !ok {
				return bad(fmt.Sprintf("%s[%d]", field, i), "is no channel; use live, push, apns, fcm, webpush, sms or email")
			}
		}
		chosen[k] = unique(words)
	}
	p.Channels = chosen
	return nil
}

func unique(words []string) []string {
	list := []string{}
	for _, w := range words {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// SetTimeZone sets the zone of the quiet hours and the digest.
func (p *Profile) SetTimeZone(name string) error {
	if name != "" {
		if _, err := loadZone(name); err != nil {
			return bad("time_zone", "must be an IANA time zone such as Europe/London")
		}
	}
	p.TimeZone = name
	return nil
}

// loadZone takes only names that mean the same on every machine.
func loadZone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "Local") {
		return nil, fmt.Errorf("no time zone %q", name)
	}
	return time.LoadLocation(name)
}

// SetLocale sets the language, as de or de-CH.
func (p *Profile) SetLocale(name string) error {
	locale, ok := canonicalLocale(name)
	if !ok {
		return bad("locale", "must be a language and perhaps a country, such as en or de-CH")
	}
	p.Locale = locale
	return nil
}

// canonicalLocale writes a locale as usual: de-CH, zh-Hant-TW.
func canonicalLocale(name string) (string, bool) {
	if name == "" {
		return "", true
	}
	if len(name) > 35 {
		return "", false
	}
	parts := strings.Split(strings.ReplaceAll(name, "_", "-"), "-")
	for i, part := range parts {
		if !isWord(part, i == 0) {
			return "", false
		}
		switch {
		case i > 0 && len(part) == 2:
			parts[i] = strings.ToUpper(part)
		case i > 0 && len(part) == 4:
			parts[i] = strings.ToUpper(part[:1]) + strings.ToLower(part[1:])
		default:
			parts[i] = strings.ToLower(part)
		}
	}
	return strings.Join(parts, "-"), true
}

// isWord says whether s can be a part of a locale: the first is 2 to 8 letters, the
// others 1 to 8 letters or digits.
func isWord(s string, first bool) bool {
	if len(s) < 1 || len(s) > 8 || first && len(s) < 2 {
		return false
	}
	for _, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (first || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// SetQuiet sets the quiet hours, as "22:00" and "07:00".
func (p *Profile) SetQuiet(from, to string) error {
	q := QuietHours{}
	for _, f := range []struct {
		name, v string
		minute  *int
	}{{"from", from, &q.From}, {"to", to, &q.To}} {
		m, ok := minuteOfDay(f.v)
		if !ok {
			return bad("quiet_hours."+f.name, "must be a time of day such as 22:00")
		}
		*f.minute = m
	}
	p.Quiet = &q
	return nil
}

// SetDigestHour sets the hour of the day at which the digest is sent.
func (p *Profile) SetDigestHour(hour int) error {
	if hour < 0 || hour > 23 {
		return bad("digest.hour", "must be 0 to 23")
	}
	p.DigestHour = &hour
	return nil
}

// Recipient is the profile as deliveries go by it, without addresses. zone is
// that of the profile, or nil.
func (p *Profile) Recipient(fanNo int64, zone *time.Location) *Recipient {
	r := &Recipient{
		FanNo: fanNo, Locale: p.Locale, Zone: zone, Quiet: p.Quiet, TurnAtNight: p.TurnAtNight,
		Channels: map[notifier.Kind][]notifier.Channel{}, OptedOut: p.OptedOut,
	}
	for _, k := range notifier.PreferenceKinds {
		r.Channels[k], _ = notifier.ChannelsOf(p.Words(k)) // checked when it was set
	}
	return r
}
