package delivery

import (
	"errors"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fanline/notifier"
)

// wants says that err is a BadInput of a field which says what to do.
func wants(t *testing.T, what string, err error, field string) {
	t.Helper()
	e, ok := errors.AsType[*BadInput](err)
	if !ok || e.Field != field || !strings.HasPrefix(e.Detail, field+" ") {
		t.Errorf("%q: %v, want a refusal that names %s", what, err, field)
	}
}

func TestAMailboxIsKeptAsTyped(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"ada@example.com", "Ada.Lovelace+1815@Sub.Example.CO.UK", "o'hara@example.com", "a_b-c@xn--bcher-kva.example", "1@a.bc"} {
		var p Profile
		if err := p.SetEmail(s); err != nil || p.Email != s {
			t.Errorf("%q became %q: %v", s, p.Email, err)
		}
	}
	p := Profile{Email: "x@example.com"}
	if err := p.SetEmail(""); err != nil || p.Email != "" {
		t.Errorf("%v: %q is left", err, p.Email)
	}
}

func TestWhatIsNotOneMailboxIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"ada", "@example.com", "ada@", "ada@localhost", "ada@@example.com", "a@b@example.com", "ada@example..com", "ada@-example.com", "ada@example.com.",
		"Ada <ada@example.com>", "<ada@example.com>", "ada@example.com (Ada)", `"ada b"@example.com`, `"ada\r\nBcc: eve"@example.com`,
		"ada@example.com,eve@example.com", "ada@example.com;eve@example.com", "ada@example.com eve@example.com", "group:ada@example.com;",
		"ada@example.com\r\nBcc: eve@example.com", "ada@example.com\n", "ada\r@example.com", "ada\x00@example.com", "ada\t@example.com",
		"ada@[127.0.0.1]", "ada@127.0.0.1", "ada@2130706433.1", "ada@exämple.com", "adä@example.com", "=?utf-8?q?ada=0d=0aBcc:eve@example.com?=",
		".ada@example.com", "ada.@example.com", "a..b@example.com", strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("b.", 130) + "com",
	} {
		p := Profile{Email: "before@example.com"}
		wants(t, s, p.SetEmail(s), "email")
		if p.Email != "before@example.com" {
			t.Errorf("%q changed the mailbox to %q", s, p.Email)
		}
	}
}

func TestAMailboxIsOneHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"ada@example.com", "Ada@example.com", "ADA@EXAMPLE.COM", "aDa@Example.Com"} {
		if got := Identity(notifier.Email, s); got != "ada@example.com" {
			t.Errorf("%s is %s", s, got)
		}
	}
	a := Address{Channel: notifier.FCM, To: "CaseSensitive"}
	if a.Identity() != "CaseSensitive" {
		t.Error("a token was changed")
	}
}

func TestANumberIsStoredAsE164(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sent, locale, zone, want string }{
		{"+44 20 7946 0018", "", "", "+442079460018"},
		{"+44 (0)20 7946-0018", "", "", "+442079460018"},
		{"+1 (212) 555-0123", "", "", "+12125550123"},
		{"+15005550006", "", "", "+15005550006"}, // of tests, in no table
		{"+41.44.668.18.00", "", "", "+41446681800"},
		{"020 7946 0018", "en-GB", "", "+442079460018"},
		{"020 7946 0018", "", "Europe/London", "+442079460018"},
		{"07400 123456", "", "Europe/London", "+447400123456"},
		{"044 668 18 00", "de-CH", "Europe/Zurich", "+41446681800"},
		{"044 668 18 00", "de-CH", "", "+41446681800"},
		{"(212) 736-5000", "", "America/New_York", "+12127365000"},
		{"+44 20 7946 0018", "de-CH", "Europe/Zurich", "+442079460018"},
	} {
		p := Profile{Locale: c.locale, TimeZone: c.zone}
		if err := p.SetPhone(c.sent); err != nil || p.Phone != c.want {
			t.Errorf("%q in %q, %q: %q, %v; want %q", c.sent, c.locale, c.zone, p.Phone, err, c.want)
		}
	}
}

func TestANumberWhoseCountryIsNotSureIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sent, locale, zone string }{
		{"020 7946 0018", "", ""},
		{"020 7946 0018", "en", ""},
		{"020 7946 0018", "es-419", ""},
		{"0207", "fr", "Asia/Tokyo"},
		{"05121 123456", "de-DE", "Europe/Vienna"}, // of Hildesheim, or of Innsbruck
	} {
		p := Profile{Locale: c.locale, TimeZone: c.zone}
		err := p.SetPhone(c.sent)
		wants(t, c.sent, err, "phone")
		if err != nil && !strings.Contains(err.Error(), "such as +44") {
			t.Errorf("%q: %v does not say what to do", c.sent, err)
		}
	}
}

func TestWhatIsNotOneNumberIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"+", "+4", "+44", "+999123456789", "+1", "+44 20 7946 0018 x12", "+44 20 7946 0018, +44 20 7946 0019", "+442079460018+442079460019",
		"1-800-FLOWERS", "tel:+442079460018", "+44 20 7946 0018\r\nX: y", "٠٢٠٧٩٤٦٠٠١٨", strings.Repeat("1", 41), "+" + strings.Repeat("1", 20), "()", "---",
	} {
		p := Profile{Phone: "+442079460018", Locale: "en-GB", TimeZone: "Europe/London"}
		wants(t, s, p.SetPhone(s), "phone")
		if p.Phone != "+442079460018" {
			t.Errorf("%q changed the number to %q", s, p.Phone)
		}
	}
}

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{3,16}$`)

func FuzzPhone(f *testing.F) {
	for _, s := range []string{"+44 20 7946 0018", "020 7946 0018", "+", "00442079460018", "(212) 736-5000"} {
		f.Add(s, "en-GB", "Europe/London")
		f.Add(s, "", "")
	}
	f.Fuzz(func(t *testing.T, s, locale, zone string) {
		p := DefaultProfile()
		if p.SetLocale(locale) != nil {
			p.Locale = ""
		}
		_ = p.SetTimeZone(zone)
		if p.SetPhone(s) != nil || p.Phone == "" {
			return
		}
		if !e164.MatchString(p.Phone) {
			t.Fatalf("%q became %q", s, p.Phone)
		}
		again := DefaultProfile()
		if err := again.SetPhone(p.Phone); err != nil || again.Phone != p.Phone {
			t.Errorf("%q is not taken as itself: %q, %v", p.Phone, again.Phone, err)
		}
	})
}

func FuzzEmail(f *testing.F) {
	for _, s := range []string{"ada@example.com", "Ada <ada@example.com>", "a@b\r\n", `"x"@y.z`, "a@b.c,d@e.f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p Profile
		if p.SetEmail(s) != nil || p.Email == "" {
			return
		}
		list, err := mail.ParseAddressList(p.Email)
		if err != nil || len(list) != 1 || list[0].Name != "" || list[0].Address != p.Email || strings.ContainsAny(p.Email, "\r\n\x00 <>,;:") {
			t.Errorf("%q was taken as %q", s, p.Email)
		}
	})
}

func TestAddressesAreShownMasked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		channel       notifier.Channel
		address, want string
	}{
		{notifier.Email, "ada@example.com", "a…@example.com"},
		{notifier.SMS, "+442079460018", "+44…18"},
		{notifier.APNs, strings.Repeat("0123456789abcdef", 4), "0123…cdef"},
		{notifier.FCM, "short", "…"},
		{notifier.WebPush, "https://push.example.com/send/abcdefghijkl", "https://push.example.com/…ijkl"},
	} {
		if got := Mask(c.channel, c.address); got != c.want {
			t.Errorf("%s shows as %s, want %s", c.address, got, c.want)
		}
	}
}

func TestLocalesAreWrittenOneWay(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"": "", "en": "en", "EN": "en", "de_ch": "de-CH", "DE-ch": "de-CH", "zh-hant-tw": "zh-Hant-TW", "es-419": "es-419", "ca-valencia": "ca-valencia",
	} {
		var p Profile
		if err := p.SetLocale(sent); err != nil || p.Locale != want {
			t.Errorf("%q became %q, %v; want %q", sent, p.Locale, err, want)
		}
	}
	for _, s := range []string{"e", "-", "en-", "-en", "en--GB", "english language", "en\x00", "dé", "en-GB;q=0.8", "1a", strings.Repeat("en-", 20) + "GB"} {
		wants(t, s, new(Profile).SetLocale(s), "locale")
	}
}

func TestChannelsAreChosenByKind(t *testing.T) {
	t.Parallel()
	p := DefaultProfile()
	if err := p.SetChannels(notifier.KindTurn, []string{"email", "push", "email", "apns"}); err != nil {
		t.Fatal(err)
	}
	if got := p.Words(notifier.KindTurn); !slices.Equal(got, []string{"email", "push", "apns"}) {
		t.Errorf("turns by %v", got)
	}
	r := p.Recipient(1, nil)
	if got := r.For(notifier.KindResult, notifier.Turns, nil); !slices.Equal(got, []notifier.Channel{notifier.APNs, notifier.Email, notifier.FCM, notifier.WebPush}) {
		t.Errorf("results by %v", got)
	}
	if got := r.For(notifier.KindTurn, notifier.Turns, []notifier.Channel{notifier.SMS}); !slices.Equal(got, []notifier.Channel{notifier.SMS}) {
		t.Errorf("what was asked for is %v", got)
	}
	wants(t, "pigeon", p.SetChannels(notifier.KindTurn, []string{"live", "pigeon"}), "channels.turn[1]")
	wants(t, "result", p.SetChannels(notifier.KindResult, nil), "channels.result")
	if err := p.SetChannels(notifier.KindTurn, nil); err != nil || len(p.Words(notifier.KindTurn)) != 4 {
		t.Errorf("not reset: %v, %v", p.Words(notifier.KindTurn), err)
	}
}
