package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

// recipient is how a fan is to be told by some channels.
func (b *bench) recipient(fan string, channels ...notifier.Channel) *delivery.Recipient {
	b.t.Helper()
	no := b.fanNo(fan)
	found, err := b.store.Recipients(b.t.Context(), []int64{no}, channels)
	must(b.t, err)
	if found[no] == nil {
		b.t.Fatalf("no recipient %s", fan)
	}
	return found[no]
}

// contact gives a fan a mailbox and a number.
func (b *bench) contact(fan, email, phone string) {
	b.t.Helper()
	b.profile(fan, func(p *delivery.Profile) error {
		if err := p.SetEmail(email); err != nil {
			return err
		}
		return p.SetPhone(phone)
	})
}

func (b *bench) profile(fan string, change func(*delivery.Profile) error, again ...notifier.Kind) delivery.Profile {
	b.t.Helper()
	p, err := b.store.PutProfile(b.t.Context(), fan, change, again...)
	must(b.t, err)
	return p
}

// reach are the addresses that a fan can be reached at by SMS and e-mail.
func (b *bench) reach(fan string) (list []string) {
	b.t.Helper()
	for _, a := range b.recipient(fan, notifier.SMS, notifier.Email).Addresses {
		list = append(list, a.To)
	}
	return list
}

func (b *bench) wantReach(fan string, want ...string) {
	b.t.Helper()
	if got := b.reach(fan); !slices.Equal(got, want) {
		b.t.Errorf("%s is reached at %v, want %v", fan, got, want)
	}
}

func TestAFanOfWhomNothingIsKnownHasTheDefaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recipient("ada", notifier.Channels...)
	want := map[notifier.Kind][]notifier.Channel{
		notifier.KindTurn:         {notifier.APNs, notifier.Email, notifier.FCM, notifier.Live, notifier.SMS, notifier.WebPush},
		notifier.KindAnnouncement: {notifier.APNs, notifier.FCM, notifier.Live, notifier.WebPush},
		notifier.KindMessage:      {notifier.APNs, notifier.FCM, notifier.Live, notifier.WebPush},
	}
	for k, channels := range want {
		if !slices.Equal(r.Channels[k], channels) {
			t.Errorf("%s by %v, want %v", k, r.Channels[k], channels)
		}
	}
	if !r.TurnAtNight || r.Quiet != nil || r.Zone != nil || len(r.Addresses) != 0 {
		t.Errorf("recipient %+v", r)
	}
}

func TestRecipientsAreReadInTwoStatementsWhateverTheirNumber(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var nos []int64
	for i := range 50 {
		fan := fmt.Sprint("fan-", i)
		b.register(fan, "phone", fmt.Sprint("token-", i))
		b.contact(fan, fan+"@example.com", "")
		nos = append(nos, b.fanNo(fan))
	}
	b.exec(`INSERT INTO fans (fan_id) SELECT 'more-' || n FROM generate_series(1, 950) n`)
	rows := b.strings(`SELECT fan_no::text FROM fans WHERE fan_id LIKE 'more-%'`)
	for _, r := range rows {
		var no int64
		_, _ = fmt.Sscan(r, &no)
		nos = append(nos, no)
	}
	got, err := b.store.Recipients(t.Context(), append(nos, 1<<40), notifier.Channels)
	must(t, err)
	if len(got) != 1000 {
		t.Errorf("%d recipients", len(got))
	}
	for i, no := range nos[:50] {
		if a := got[no].Addresses; len(a) != 2 || a[0].To != fmt.Sprintf("fan-%d@example.com", i) || a[1].To != fmt.Sprint("token-", i) {
			t.Fatalf("addresses of fan %d: %+v", i, a)
		}
	}
}

func TestAnOmittedFieldOfAProfileStaysAndAnOptOutDoesNotTouchIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.profile("ada", func(p *delivery.Profile) error {
		must(t, p.SetEmail("Ada@Example.com"))
		must(t, p.SetQuiet("22:00", "07:30"))
		must(t, p.SetTimeZone("Asia/Kathmandu"))
		must(t, p.SetDigestHour(0))
		return p.SetChannels(notifier.KindMessage, []string{})
	})
	p := b.profile("ada", func(p *delivery.Profile) error { return p.SetLocale("de_ch") })
	if p.Email != "Ada@Example.com" || p.Locale != "de-CH" || *p.Quiet != (delivery.QuietHours{From: 22 * 60, To: 7*60 + 30}) || *p.DigestHour != 0 {
		t.Errorf("profile %+v", p)
	}
	r := b.recipient("ada", notifier.Email)
	if len(r.Channels[notifier.KindMessage]) != 0 || len(r.Channels[notifier.KindTurn]) != 6 || r.Zone.String() != "Asia/Kathmandu" {
		t.Errorf("recipient %+v", r)
	}
	b.wantReach("ada", "Ada@Example.com")
}

// An opt-out is of the mailbox, whoever has it and however they write it.
func TestAnOptOutByAnotherSpellingStopsEveryFanOfTheMailbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for fan, email := range map[string]string{"a": "ada@example.com", "b": "Ada@Example.com", "c": "ADA@EXAMPLE.COM"} {
		b.contact(fan, email, "")
		b.wantReach(fan, email)
	}
	must(t, b.store.OptOut(t.Context(), notifier.Email, "aDA@eXAMPLE.com", "", "complaint"))
	for _, fan := range []string{"a", "b", "c"} {
		b.wantReach(fan)
	}
	b.contact("d", "other@example.com", "")
	b.wantReach("d", "other@example.com")
}

func TestAnOptOutOutlivesErasureAndANewRegistration(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "ada@example.com", "+442079460018")
	must(t, b.store.OptOut(t.Context(), notifier.Email, "ada@example.com", "", "complaint"))
	must(t, b.EraseFan(t.Context(), "ada"))
	if n := b.strings(`SELECT t::text FROM opt_outs t WHERE t::text LIKE '%ada%'`); len(n) > 0 {
		t.Errorf("an opt-out names its owner: %v", n)
	}
	b.contact("ada-again", "ADA@example.com", "+442079460018")
	b.wantReach("ada-again", "+442079460018")
}

func TestStopCountsForItsSenderAloneAndStartTakesItBack(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, store.Migrate)
	b := benchOn(t, url)
	b.contact("ada", "ada@example.com", "+442079460018")
	must(t, b.store.OptOut(t.Context(), notifier.SMS, "+442079460018", "+15005550006", "21610"))
	with := func(sender string) *bench {
		s, err := store.Open(t.Context(), store.Config{URL: url, Senders: map[notifier.Channel]string{notifier.SMS: sender}})
		must(t, err)
		t.Cleanup(s.Close)
		return &bench{t: t, store: s}
	}
	same, another := with("+15005550006"), with("MG-another")
	b.wantReach("ada", "ada@example.com")
	same.wantReach("ada", "ada@example.com")
	another.wantReach("ada", "+442079460018", "ada@example.com")
	must(t, same.store.OptIn(t.Context(), notifier.SMS, "+442079460018", "MG-another"))
	same.wantReach("ada", "ada@example.com")
	must(t, same.store.OptIn(t.Context(), notifier.SMS, "+442079460018", "+15005550006"))
	same.wantReach("ada", "+442079460018", "ada@example.com")
}

func TestADeadMailboxIsNotUsedAndStaysTheFansContact(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "ada@example.com", "")
	done, err := b.store.RetireAddress(t.Context(), b.fanNo("ada"), delivery.Address{Channel: notifier.Email, To: "ada@example.com"}, time.Now(), "550 5.1.1")
	must(t, err)
	p, err := b.store.Profile(t.Context(), "ada")
	must(t, err)
	if !done || p.Email != "ada@example.com" || !slices.Contains(p.OptedOut[notifier.Email], "") {
		t.Errorf("retired %v; profile %+v", done, p)
	}
	b.wantReach("ada")
	b.contact("ada", "ada@example.org", "")
	b.wantReach("ada", "ada@example.org")
}

// token is the one-click opt-out of a fan's mailbox.
func (b *bench) token(fan string, k notifier.Kind) string {
	b.t.Helper()
	p, err := b.store.Profile(b.t.Context(), fan)
	must(b.t, err)
	token, err := b.store.UnsubscribeToken(b.t.Context(), delivery.Address{Channel: notifier.Email, To: p.Email}, k)
	must(b.t, err)
	return token
}

func TestUnsubscribingEndsThatChannelForThatKindAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "Ada@Example.com", "+442079460018")
	token := b.token("ada", notifier.KindResult) // which goes by the preference for turns
	for range 3 {
		if c, k, err := b.store.Subscription(t.Context(), token); err != nil || c != notifier.Email || k != notifier.KindTurn {
			t.Fatalf("a look: %s %s %v", c, k, err)
		}
	}
	if got := b.recipient("ada").For(notifier.KindTurn, notifier.Turns, nil); !slices.Contains(got, notifier.Email) {
		t.Errorf("a look unsubscribed: %v", got)
	}
	for range 2 {
		_, _, err := b.store.Unsubscribe(t.Context(), token)
		must(t, err)
	}
	r := b.recipient("ada", notifier.SMS, notifier.Email)
	all := []notifier.Channel{notifier.Live, notifier.SMS, notifier.Email}
	for _, c := range []struct {
		kind notifier.Kind
		lane notifier.Lane
		want []notifier.Channel
	}{
		{notifier.KindTurn, notifier.Turns, all[:2]},
		{notifier.KindResult, notifier.Turns, all[:2]},
		{notifier.KindMessage, notifier.Bulk, all},
		{notifier.KindMessage, notifier.Transactional, all},
		{notifier.KindAnnouncement, notifier.Bulk, all},
	} {
		if got := r.For(c.kind, c.lane, all); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s by %v, want %v", c.kind, c.lane, got, c.want)
		}
	}
	b.wantReach("ada", "+442079460018", "Ada@Example.com")
}

func TestATransactionalMessageIsExemptFromUnsubscribingFromMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "ada@example.com", "")
	_, _, err := b.store.Unsubscribe(t.Context(), b.token("ada", notifier.KindMessage))
	must(t, err)
	r := b.recipient("ada", notifier.Email)
	asked := []notifier.Channel{notifier.Email}
	if got := r.For(notifier.KindMessage, notifier.Bulk, asked); len(got) != 0 {
		t.Errorf("bulk by %v", got)
	}
	if got := r.For(notifier.KindMessage, notifier.Transactional, asked); !slices.Equal(got, asked) {
		t.Errorf("transactional by %v", got)
	}
}

func TestAFanWhoAsksForAChannelAgainHasItAgainAndAnAppCannotAskForThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "ada@example.com", "")
	_, _, err := b.store.Unsubscribe(t.Context(), b.token("ada", notifier.KindTurn))
	must(t, err)
	must(t, b.store.OptOut(t.Context(), notifier.Email, "ada@example.com", "other", "elsewhere"))
	ask := func(p *delivery.Profile) error { return p.SetChannels(notifier.KindTurn, []string{"live", "email"}) }
	b.profile("ada", ask)
	if got := b.recipient("ada").For(notifier.KindTurn, notifier.Turns, nil); slices.Contains(got, notifier.Email) {
		t.Errorf("the app took back what the fan unsubscribed from: %v", got)
	}
	b.profile("ada", ask, notifier.KindTurn)
	if got := b.recipient("ada").For(notifier.KindTurn, notifier.Turns, nil); !slices.Contains(got, notifier.Email) {
		t.Errorf("the fan asked and gets %v", got)
	}
	if n := b.strings(`SELECT sender FROM opt_outs`); !slices.Equal(n, []string{"other"}) {
		t.Errorf("opt-outs left: %v", n)
	}
}

func TestAForgedOrCutTokenUnsubscribesNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "ada@example.com", "")
	token := b.token("ada", notifier.KindTurn)
	forged := []string{"", "x", token[:len(token)-1], token + "A", token[1:], "AAAA" + token[4:]}
	for i := range token {
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		forged = append(forged, token[:i]+string(other)+token[i+1:])
	}
	for _, f := range forged {
		_, _, err := b.store.Unsubscribe(t.Context(), f)
		refused(t, f, err, waitlist.NotFound)
	}
	if n := b.strings(`SELECT channel FROM opt_outs`); len(n) > 0 {
		t.Errorf("opt-outs %v", n)
	}
}

func TestATokenOutlivesTheFanAndTheKeysOfTheApp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.contact("ada", "ada@example.com", "")
	token := b.token("ada", notifier.KindAnnouncement)
	must(t, b.EraseFan(t.Context(), "ada"))
	other := benchOn(t, b.store.Pool().Config().ConnString())
	_, _, err := other.store.Unsubscribe(t.Context(), token)
	must(t, err)
	b.contact("ben", "Ada@example.com", "")
	r := b.recipient("ben", notifier.Email)
	if got := r.For(notifier.KindAnnouncement, notifier.Bulk, []notifier.Channel{notifier.Email}); len(got) != 0 {
		t.Errorf("announcements by %v", got)
	}
}

// texts are a fan's items as "kind: title".
func (b *bench) texts(fan string) (list []string) {
	b.t.Helper()
	items, _, err := b.store.Items(b.t.Context(), fan, notifier.InboxQuery{Limit: 10})
	must(b.t, err)
	for i := range items {
		list = append(list, string(items[i].Kind)+": "+items[i].Title)
	}
	return list
}

// An item reads the same in the inbox, live, and as it is sent.
func TestItemsAreInTheFansLanguageWhereverTheyAreShown(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(strategy)})
			b.change("s", waitlist.ShowChange{Templates: waitlist.Some(waitlist.Templates{
				"turn":   {"en": {Title: "{show}, at last", Body: "B"}, "de": {Title: "{show}, endlich", Body: "B"}},
				"result": {"de": {Title: "Aus", Body: "B"}},
			})})
			for fan, locale := range map[string]string{"ada": "de-CH", "ben": "ja", "cyd": ""} {
				b.profile(fan, func(p *delivery.Profile) error { return p.SetLocale(locale) })
				b.join("s", fan)
			}
			viewer := b.viewer("ada", "ben", "cyd")
			b.free("s", "o", 3)
			b.decide()
			live := map[string]string{}
			for _, n := range viewer.news() {
				live[viewer.here[n.FanNo]] = n.Item.Title
			}
			for _, fan := range []string{"ada", "ben", "cyd"} {
				b.opened("s", "o", fan)
			}
			for fan, want := range map[string]string{"ada": "Tuesday night, endlich", "ben": "Tuesday night, at last", "cyd": "Tuesday night, at last"} {
				if got := b.texts(fan); !slices.Equal(got, []string{"turn: " + want}) {
					t.Errorf("%s reads %v, want %s", fan, got, want)
				}
				if live[fan] != want {
					t.Errorf("%s is pushed %q, want %s", fan, live[fan], want)
				}
			}
			must(t, b.CancelOpening(t.Context(), at("s", "o")))
			b.decide()
			if got := b.texts("ada"); !slices.Contains(got, "result: Aus") {
				t.Errorf("ada reads %v", got)
			}
			if got := b.texts("ben"); !slices.Contains(got, "result: "+notifier.TextFor("result.cancelled").Fill(notifier.Vars{Show: "Tuesday night"}).Title) {
				t.Errorf("ben reads %v", got)
			}
		})
	}
}
