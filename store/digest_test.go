package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// wantsDigest gives a fan a mailbox and the digest at 9 of UTC.
func (o *office) wantsDigest(fans ...string) {
	o.t.Helper()
	for _, fan := range fans {
		o.profile(fan, func(p *delivery.Profile) error {
			if err := p.SetEmail(fan + "@example.com"); err != nil {
				return err
			}
			return p.SetDigestHour(9)
		})
	}
}

// startDigests starts those of a day.
func (o *office) startDigests(day string) int {
	o.t.Helper()
	groups, err := o.store.DigestGroups(o.t.Context())
	must(o.t, err)
	var runs []delivery.DigestRun
	for _, g := range groups {
		runs = append(runs, delivery.DigestRun{DigestGroup: g, Day: day})
	}
	n, err := o.store.StartDigests(o.t.Context(), runs)
	must(o.t, err)
	return n
}

// titles are those in a mail, in its order.
func titles(e *delivery.Envelope) string {
	var list []string
	for _, c := range e.Contents {
		list = append(list, c.Title)
	}
	return strings.Join(list, ", ")
}

// inInbox is a message that goes nowhere else.
func inInbox(fan, title string) notifier.NewMessage {
	m := bulk(fan, title)
	m.Channels = []notifier.Channel{}
	return m
}

func TestADigestHasWhatIsUnreadAndNothingIsNoMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantsDigest("ada", "bob", "cy")
	o.send(inInbox("ada", "One"), inInbox("bob", "Read"), inInbox("dan", "No digest"))
	o.pass(time.Second)
	secret := urgent("ada", "Code 1234")
	kept := urgent("ada", "Paid")
	kept.Inbox = true
	secret.Channels, kept.Channels = []notifier.Channel{}, []notifier.Channel{}
	kept.TTL = notifier.BulkTTL
	o.send(secret, kept)
	_, err := o.store.MarkAllRead(t.Context(), "bob", o.time())
	must(t, err)
	o.pass(time.Second)
	o.deliver()
	if n := o.startDigests("2026-01-05"); n != 1 {
		t.Errorf("%d runs started", n)
	}
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com")
	got := o.channels[notifier.Email].got[0]
	if titles(&got) != "Paid, One" || got.Item.Title != "2 new items in your inbox" || got.Unsubscribe == "" || got.Item.Lane != notifier.Bulk {
		t.Errorf("sent %+v", got)
	}
	if n := o.rowsIn("digests"); n != 1 {
		t.Errorf("%d digests are written down", n)
	}
}

func TestTheNextDigestHasOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantsDigest("ada")
	o.send(inInbox("ada", "One"))
	o.pass(time.Minute)
	o.startDigests("2026-01-05")
	o.deliver()
	o.pass(24 * time.Hour)
	o.startDigests("2026-01-06")
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com") // still unread, and told once
	o.send(inInbox("ada", "Two"))
	o.pass(24 * time.Hour)
	o.startDigests("2026-01-07")
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com", "ada@example.com")
	if got := o.channels[notifier.Email].got[1]; titles(&got) != "Two" || got.Item.Title != "1 new item in your inbox" {
		t.Errorf("sent %s: %s", got.Item.Title, titles(&got))
	}
}

func TestTwentyOpeningsAndTwoInstancesMakeOneDigestWithAll(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.show("s", waitlist.PolicyChange{Mode: waitlist.Some(waitlist.ModeEveryone), Strategy: waitlist.Some(strategy), ReleasePerS: waitlist.Some(waitlist.Milli(1_000_000))})
			o.join("s", "ada", "bob")
			o.wantsDigest("ada", "bob")
			for i := range 20 {
				o.free("s", fmt.Sprint("o", i), 1)
			}
			o.decide()
			o.take() // the alerts of the turns are not this test's
			o.pass(time.Second)
			o.exec(`DELETE FROM alerts`)
			o.take()
			other := officeOn(benchOn(t, o.url), o.redis)
			var all sync.WaitGroup
			for range 4 {
				for _, who := range []*office{o, other} {
					all.Go(func() {
						who.startDigests("2026-01-05")
						for _, zone := range []notifier.DigestArgs{{From: 0, To: 0}, {From: 0, To: o.fanNo("bob")}} {
							zone.Day, zone.Hour = "2026-01-05", 9
							var later *notifier.Later // the other one has it
							if err := who.p.Digest(t.Context(), zone); err != nil && !errors.As(err, &later) {
								t.Error(err)
							}
						}
					})
				}
			}
			all.Wait()
			o.deliver()
			sent := append(o.channels[notifier.Email].got, other.channels[notifier.Email].got...)
			if len(sent) != 2 || len(sent[0].Contents) != 20 || len(sent[1].Contents) != 20 {
				t.Errorf("%d mails", len(sent))
				for i := range sent {
					t.Errorf("to %s: %s", sent[i].Address.To, titles(&sent[i]))
				}
			}
			if n := o.rowsIn("digests"); n != 2 {
				t.Errorf("%d digests", n)
			}
		})
	}
}

func TestADigestThatMayHaveGoneIsTriedAgainAsTheSameMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantsDigest("ada")
	o.send(inInbox("ada", "One"))
	o.pass(time.Second)
	o.startDigests("2026-01-05")
	o.channels[notifier.Email].say(delivery.Unsure)
	o.deliver()
	o.after(3 * time.Second)
	o.channels[notifier.Email].answer = nil
	o.send(inInbox("ada", "Two")) // which the next one has
	o.startDigests("2026-01-05")
	o.after(10 * time.Second)
	got := o.channels[notifier.Email].got
	if len(got) < 2 {
		t.Fatalf("%d attempts", len(got))
	}
	for i := range got {
		if got[i].Key != got[0].Key || titles(&got[i]) != "One" {
			t.Errorf("attempt %d: key %s with %s", i, got[i].Key, titles(&got[i]))
		}
	}
	o.wantPhases("ada", "email: accepted queued(because) sent")
	o.after(10 * time.Second)
	if n := len(o.channels[notifier.Email].got); n != len(got) {
		t.Errorf("%d attempts after it was accepted", n-len(got))
	}
}

func TestADigestIsNotSentTwiceWhenItsProcessDiesBetween(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantsDigest("ada", "bob")
	o.send(inInbox("ada", "One"), inInbox("bob", "One"))
	o.pass(time.Second)
	o.startDigests("2026-01-05")
	a := notifier.DigestArgs{Day: "2026-01-05", Hour: 9, To: o.fanNo("bob")}
	made, err := o.store.MakeDigests(t.Context(), a) // and dies
	must(t, err)
	again, err := o.store.MakeDigests(t.Context(), a)
	must(t, err)
	if len(made) != 2 || fmt.Sprint(made) != fmt.Sprint(again) {
		t.Errorf("made %v, then %v", made, again)
	}
	must(t, o.p.Digest(t.Context(), a))
	must(t, o.p.Digest(t.Context(), a))
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com", "bob@example.com")
}

func TestUnsubscribingFromTheDigestTurnsThatOffAlone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.wantsDigest("ada")
	o.profile("ada", func(p *delivery.Profile) error { return p.SetChannels(notifier.KindMessage, []string{"email"}) })
	o.send(inInbox("ada", "One"))
	o.pass(time.Second)
	c, k, err := o.store.Unsubscribe(t.Context(), o.token("ada", notifier.KindDigest))
	if err != nil || c != notifier.Email || k != notifier.KindDigest {
		t.Fatalf("%s %s %v", c, k, err)
	}
	o.startDigests("2026-01-05")
	o.deliver()
	o.wantSent(notifier.Email)
	o.send(bulk("ada", "News"))
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com")
	// The fan asks for it again.
	_, err = o.store.PutProfile(t.Context(), "ada", func(p *delivery.Profile) error { return p.SetDigestHour(9) }, notifier.KindDigest)
	must(t, err)
	o.startDigests("2026-01-06")
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com", "ada@example.com")
}

func TestDigestsGoInChunksWhoseGroupsAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.exec(`INSERT INTO fans (fan_id, email, email_hash, digest_hour, time_zone)
		SELECT 'f' || n, 'f' || n || '@example.com', sha256(n::text::bytea), n % 2 + 8, CASE n % 3 WHEN 0 THEN '' ELSE 'Europe/London' END
		FROM generate_series(1, 1500) n`)
	o.exec(`INSERT INTO messages (id, api_key, fan_no, lane, type, title, body, inbox, created_at, expires_at)
		SELECT 'm' || fan_no, 'k', fan_no, 'bulk', 't', 'T', 'B', true, clock_timestamp(), clock_timestamp() + interval '1 day' FROM fans`)
	o.exec(`INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats) SELECT fan_no, 'message', msg_no, created_at, 0, 0, 0 FROM messages`)
	groups, err := o.store.DigestGroups(t.Context())
	must(t, err)
	if want := "[{ 8} { 9} {Europe/London 8} {Europe/London 9}]"; fmt.Sprint(groups) != want {
		t.Errorf("groups %v, want %s", groups, want)
	}
	o.pass(time.Second)
	if n := o.startDigests("2026-01-05"); n != 4 {
		t.Errorf("%d runs started", n)
	}
	o.deliver()
	if n := len(o.channels[notifier.Email].got); n != 1500 {
		t.Errorf("%d mails", n)
	}
	if n := o.startDigests("2026-01-05"); n != 0 {
		t.Errorf("%d runs started again", n)
	}
}
