package waitlist

import "strings"

// defaultLocale is the language for fans who name none, or one that there are no
// texts in.
const defaultLocale = "en"

// For returns the text of the first of the kinds that there is one of in the locale
// or its language (de-CH, then de), or else in English. ok is false where there is
// none: the built-in text is for that.
func (t Templates) For(locale string, kinds ...string) (text Template, ok bool) {
	if len(t) == 0 {
		return Template{}, false
	}
	for _, locale := range []string{locale, defaultLocale} {
		for _, kind := range kinds {
			if text, ok := t.in(kind, locale); ok {
				return text, true
			}
		}
	}
	return Template{}, false
}

// in looks for a kind's text in a locale, and then with ever fewer of its parts.
func (t Templates) in(kind, locale string) (Template, bool) {
	for locale = sameLocale(locale); locale != ""; {
		name, found := "", false
		for n := range t[kind] {
			if sameLocale(n) == locale && (!found || n < name) {
				name, found = n, true
			}
		}
		if found {
			return t[kind][name], true
		}
		locale = locale[:max(strings.LastIndexByte(locale, '-'), 0)]
	}
	return Template{}, false
}

// sameLocale is the same for all ways to write a locale.
func sameLocale(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// Languages says whether there are texts in another language than English, so that
// the fans' locales matter.
func (t Templates) Languages() bool {
	for _, locales := range t {
		for name := range locales {
			if sameLocale(name) != defaultLocale {
				return true
			}
		}
	}
	return false
}
