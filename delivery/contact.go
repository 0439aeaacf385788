package delivery

import (
	"net/mail"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"fanline/notifier"
)

// SetEmail sets the mailbox: one, without a name. It is kept as typed; "" is none.
func (p *Profile) SetEmail(s string) error {
	s = strings.Trim(s, " ")
	if s != "" && !isMailbox(s) {
		return bad("email", "must be one mailbox such as ada@example.com: no name, no brackets, no list, ASCII alone (a domain with other letters in its xn-- form)")
	}
	p.Email = s
	return nil
}

// isMailbox is stricter than the standard: no quotes, comments or address literals,
// which nobody's mailbox has and which hide things in headers.
func isMailbox(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > 254 || len(local) > 64 || !isDomain(domain) {
		return false
	}
	if strings.ContainsFunc(local, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"\()<>,;:[]@`, r) }) {
		return false
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s
}

// isDomain says whether s is a host's full name.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	if len(s) > 253 || len(labels) < 2 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, asciiLetters+"0123456789-") != "" {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != "" // else it is an address
}

// SetPhone sets the number, in E.164. A national one is read by the fan's locale and
// time zone, where these leave no doubt; "" is none.
func (p *Profile) SetPhone(s string) error {
	s = strings.Trim(s, " ")
	if s == "" {
		p.Phone = ""
		return nil
	}
	if len(s) > 40 || strings.Trim(s, "+0123456789 ()-./") != "" || strings.LastIndexByte(s, '+') > 0 {
		return bad("phone", "must be one number such as +44 20 7946 0018: digits, and perhaps spaces, dots, dashes or brackets")
	}
	if strings.HasPrefix(s, "+") {
		n, err := phonenumbers.Parse(s, "ZZ")
		// Not whether it is assigned: ranges open faster than tables are updated.
		if err != nil || !phonenumbers.IsPossibleNumber(n) {
			return bad("phone", "is not a number that can exist; check its country and its digits")
		}
		p.Phone = phonenumbers.Format(n, phonenumbers.E164)
		return nil
	}
	switch found := p.national(s); len(found) {
	case 1:
		p.Phone = found[0]
		return nil
	case 0:
		return bad("phone", "has no country that locale or time_zone would tell; write it with one, such as +44 20 7946 0018")
	default:
		return bad("phone", "could be of several countries; write it with one, such as +44 20 7946 0018")
	}
}

// national are the numbers that s can be, by the country of the locale and by those
// in which such a number is of the time zone.
func (p *Profile) national(s string) (found []string) {
	home := region(p.Locale)
	for r := range phonenumbers.GetSupportedRegions() {
		if r != home && p.TimeZone == "" {
			continue
		}
		n, err := phonenumbers.Parse(s, r)
		if err != nil || !phonenumbers.IsValidNumberForRegion(n, r) || r != home && !ofZone(n, p.TimeZone) {
			continue
		}
		if e164 := phonenumbers.Format(n, phonenumbers.E164); !slices.Contains(found, e164) {
			found = append(found, e164)
		}
	}
	return found
}

func ofZone(n *phonenumbers.PhoneNumber, zone string) bool {
	zones, err := phonenumbers.GetTimezonesForNumber(n)
	return err == nil && slices.Contains(zones, zone)
}

// region is the country of a locale, or "".
func region(locale string) string {
	parts := strings.Split(locale, "-")
	for _, part := range parts[1:] {
		if len(part) == 2 {
			return part
		}
	}
	return ""
}

// Identity is an address in the form that is the same however it was typed: what
// opt-outs go by, and the keys of deliveries.
func Identity(c notifier.Channel, address string) string {
	if c == notifier.Email {
		return strings.ToLower(strings.Trim(address, " "))
	}
	return address
}

// Identity is that of what the address goes to.
func (a *Address) Identity() string { return Identity(a.Channel, a.To) }

// Mask is an address as it may be shown: enough for its owner to know it.
func Mask(c notifier.Channel, address string) string {
	switch c {
	case notifier.Email:
		local, domain, _ := strings.Cut(address, "@")
		return first(local, 1) + "…@" + domain
	case notifier.SMS:
		return first(address, 3) + "…" + last(address, 2)
	case notifier.WebPush:
		if host, _, ok := strings.Cut(strings.TrimPrefix(address, "https://"), "/"); ok {
			return "https://" + host + "/…" + last(address, 4)
		}
	}
	if len(address) < 16 {
		return "…"
	}
	return first(address, 4) + "…" + last(address, 4)
}

// first and last are for ASCII, which addresses are.
func first(s string, n int) string { return s[:min(n, len(s))] }

func last(s string, n int) string { return s[max(len(s)-n, 0):] }
