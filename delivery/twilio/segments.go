package twilio

import (
	"strings"
	"unicode/utf8"

	"fanline/delivery"
)

// What a message of one segment, and a segment of several, hold: septets of GSM-7 or
// units of UTF-16.
const (
	gsmOne, gsmMany = 160, 153
	ucsOne, ucsMany = 70, 67
)

// The alphabet of GSM 03.38. Those of the second list take two septets.
const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmWide  = "\f^{}\\[~]|€"
)

// isGSM says whether a text can go as GSM-7.
func isGSM(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune(gsmBasic, r) && !strings.ContainsRune(gsmWide, r) {
			return false
		}
	}
	return true
}

// septets is the length of a GSM-7 text, units that of any other.
func septets(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range gsmWide {
		n += strings.Count(s, string(r))
	}
	return n
}

func units(s string) (n int) {
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// Segments is how many segments a text takes.
func Segments(s string) int {
	if isGSM(s) {
		return fill(s, gsmOne, gsmMany, func(r rune) int { return septets(string(r)) })
	}
	return fill(s, ucsOne, ucsMany, unitsOf)
}

// fill puts runes into segments; one of two units is never split between two.
func fill(s string, one, many int, weight func(rune) int) int {
	total := 0
	for _, r := range s {
		total += weight(r)
	}
	if total <= one {
		return 1
	}
	n, left := 1, many
	for _, r := range s {
		w := weight(r)
		if w > left {
			n, left = n+1, many
		}
		left -= w
	}
	return n
}

// mostSegments is how long a message may be.
const mostSegments = 3

// compose joins the texts and the link within mostSegments. The link is kept whole;
// where it alone is longer, it alone is sent.
func compose(title, body, link string) string {
	text := strings.TrimSpace(delivery.Clean(title) + "\n" + delivery.Clean(body))
	if link != "" {
		link = "\n" + link
	}
	if Segments(text+link) <= mostSegments {
		return text + link
	}
	// A piece of the text may be GSM-7 where the whole is not, but never the other way.
	weight, many, mark := units, ucsMany, delivery.Ellipsis
	if isGSM(text + link) {
		weight, many, mark = septets, gsmMany, "..."
	}
	// A segment may end a unit early, before a rune of two.
	room := mostSegments*(many-1) - weight(link)
	return strings.TrimSpace(delivery.Trim(text, mark, max(room, 0), weight) + link)
}
