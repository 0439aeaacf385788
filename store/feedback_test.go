package store_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// tell has a provider tell of a delivery.
func (o *office) tell(r delivery.Report) delivery.Heard {
	o.t.Helper()
	h, err := o.store.Tell(o.t.Context(), &delivery.Told{Service: "test", Report: &r})
	must(o.t, err)
	return h
}

// sentOne is the delivery that was sent by a channel.
func (o *office) sentOne(c notifier.Channel) (key notifier.DeliveryKey, id string) {
	o.t.Helper()
	keys := o.strings(`SELECT encode(key, 'hex') FROM deliveries WHERE channel = $1`, string(c))
	if len(keys) != 1 {
		o.t.Fatalf("%d deliveries by %s", len(keys), c)
	}
	b, err := hex.DecodeString(keys[0])
	must(o.t, err)
	return notifier.DeliveryKey(b), string(c) + "-" + keys[0]
}

func TestAPhaseThatAProviderTellsOfNeverGoesBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.device("ada", notifier.APNs, "phone")
	o.send(urgent("ada", "Code 1"))
	o.deliver()
	_, id := o.sentOne(notifier.APNs)
	for _, told := range []struct {
		phase  notifier.Phase
		reason string
		news   bool
	}{
		{notifier.PhaseSent, "", false},
		{notifier.PhaseDelivered, "", true},
		{notifier.PhaseDelivered, "", false},
		{notifier.PhaseFailed, "late", false},
		{notifier.PhaseOpened, "", true},
		{notifier.PhaseBounced, "550", false},
	} {
		h := o.tell(delivery.Report{Channels: []notifier.Channel{notifier.APNs}, ProviderID: id, Phase: told.phase, Reason: told.reason})
		if !h.Found || h.News != told.news {
			t.Errorf("%s: %+v, want news %v", told.phase, h, told.news)
		}
	}
	if h := o.tell(delivery.Report{Channels: []notifier.Channel{notifier.SMS}, ProviderID: id, Phase: notifier.PhaseBounced}); h.Found {
		t.Errorf("another channel's: %+v", h)
	}
	o.wantPhases("ada", "apns: accepted sent delivered opened")
}

func TestAReportOfAnErasedFansMailIsForgottenWithThem(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "", "Ada@mail.example")
	for _, address := range []string{"ada@mail.example", "ben@mail.example"} {
		o.tell(delivery.Report{Channels: []notifier.Channel{notifier.Email}, ProviderID: address, Phase: notifier.PhaseBounced, Address: address})
	}
	_, err := o.store.EraseFan(t.Context(), "ada")
	must(t, err)
	if left := o.strings(`SELECT report ->> 'address' FROM early_reports`); !slices.Equal(left, []string{"ben@mail.example"}) {
		t.Errorf("left %v", left)
	}
}

func TestAReportThatComesBeforeTheSendIsRecordedIsNotLost(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "+12025550100", "")
	o.channels[notifier.SMS].answer = func(e *delivery.Envelope) delivery.Verdict {
		for _, phase := range []notifier.Phase{notifier.PhaseDelivered, notifier.PhaseSent, notifier.PhaseDelivered} {
			if h := o.tell(delivery.Report{Channels: []notifier.Channel{notifier.SMS}, ProviderID: "SM1", Phase: phase}); h.Found {
				t.Errorf("found before it was recorded: %+v", h)
			}
		}
		return delivery.Verdict{Outcome: delivery.Accepted, ID: "SM1"}
	}
	m := urgent("ada", "Code 1")
	m.Channels = []notifier.Channel{notifier.SMS}
	o.send(m)
	o.deliver()
	o.wantPhases("ada", "sms: accepted sent")
	heard, err := o.store.TellEarly(t.Context(), 100)
	must(t, err)
	if len(heard) != 2 || o.rowsIn("early_reports") != 0 {
		t.Errorf("heard %+v, %d reports are left", heard, o.rowsIn("early_reports"))
	}
	o.wantPhases("ada", "sms: accepted sent delivered")
}

func TestAReportOfNothingGoesAfterAWhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 3 {
		o.tell(delivery.Report{Channels: []notifier.Channel{notifier.SMS}, ProviderID: "SM1", Phase: notifier.PhaseDelivered})
	}
	if n := o.rowsIn("early_reports"); n != 1 {
		t.Fatalf("%d reports are kept", n)
	}
	o.pass(9 * time.Minute)
	must(t, o.store.RemoveOld(t.Context()))
	if n := o.rowsIn("early_reports"); n != 1 {
		t.Errorf("%d reports are kept after 9 minutes", n)
	}
	o.pass(2 * time.Minute)
	must(t, o.store.RemoveOld(t.Context()))
	if n := o.rowsIn("early_reports"); n != 0 {
		t.Errorf("%d reports are kept after 11 minutes", n)
	}
}

func TestAFailureThatIsToldLaterMovesOnToTheNextChannelAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.contact("ada", "+12025550100", "ada@example.com")
	o.turn("s", "o", "ada")
	o.wantSent(notifier.SMS, "+12025550100")
	o.wantSent(notifier.Email)
	_, id := o.sentOne(notifier.SMS)
	failed := delivery.Report{Channels: []notifier.Channel{notifier.SMS}, ProviderID: id, Phase: notifier.PhaseFailed, Reason: "undelivered 30003"}
	o.tell(failed)
	o.tell(failed)
	o.deliver()
	o.wantSent(notifier.Email, "ada@example.com")
	o.wantPhases("ada", "email: accepted sent", "sms: accepted sent failed(undelivered 30003)")
	o.wantReach("ada", "+12025550100", "ada@example.com") // unreachable for now says nothing about the number
}

func TestALandlineIsSentNoTextsAndTheAddressMustBeTheDeliverys(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "+12025550100", "ada@example.com")
	m := urgent("ada", "Code 1")
	m.Channels = []notifier.Channel{notifier.SMS}
	o.send(m)
	o.deliver()
	_, id := o.sentOne(notifier.SMS)
	o.contact("ada", "+12025550111", "ada@example.com") // who has another number by now
	o.contact("bob", "+12025550199", "")
	r := delivery.Report{
		Channels: []notifier.Channel{notifier.SMS}, ProviderID: id, Phase: notifier.PhaseFailed, Reason: "undelivered 30006",
		Verdict: delivery.AddressDead, Address: "+12025550199",
	}
	o.tell(r)
	o.wantReach("ada", "+12025550111", "ada@example.com")
	o.wantReach("bob", "+12025550199")
	o.send(bulkTo("ada", notifier.SMS))
	o.deliver()
	keys := o.strings(`SELECT encode(key, 'hex') FROM deliveries WHERE channel = 'sms' AND state = 'sent'`)
	if len(keys) != 1 {
		t.Fatalf("sent %v", keys)
	}
	r.ProviderID, r.Address = "sms-"+keys[0], "+12025550111"
	o.tell(r)
	o.wantReach("ada", "ada@example.com")
}

func bulkTo(fan string, c notifier.Channel) notifier.NewMessage {
	m := bulk(fan, "News")
	m.Channels = []notifier.Channel{c}
	return m
}

func TestAComplaintStopsTheMailboxForGoodAndCountsOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "+12025550100", "Ada@Example.com")
	o.send(bulkTo("ada", notifier.Email))
	o.deliver()
	key, _ := o.sentOne(notifier.Email)
	o.tell(delivery.Report{Channels: []notifier.Channel{notifier.Email}, Key: &key, Phase: notifier.PhaseDelivered})
	complained := 0
	for range 46 {
		h := o.tell(delivery.Report{
			Channels: []notifier.Channel{notifier.Email}, Key: &key, Phase: notifier.PhaseDelivered, Reason: "complaint", Complaint: true,
		})
		if h.Complained {
			complained++
		}
	}
	if complained != 1 {
		t.Errorf("counted %d times", complained)
	}
	o.wantReach("ada", "+12025550100")
	must(t, o.store.OptIn(t.Context(), notifier.Email, "ada@example.com", ""))
	counts, err := o.store.ReportCounts(t.Context())
	must(t, err)
	if want := (delivery.ReportCounts{Delivered: 1, Complained: 1}); counts[notifier.Email] != want {
		t.Errorf("counted %+v, want %+v", counts[notifier.Email], want)
	}
}

func TestManyCopiesOfAReportAtOnceHaveOneEffect(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "", "ada@example.com")
	o.send(bulkTo("ada", notifier.Email))
	o.deliver()
	key, _ := o.sentOne(notifier.Email)
	var mu sync.Mutex
	news := 0
	var all sync.WaitGroup
	for i := range 46 {
		all.Go(func() {
			h, err := o.store.Tell(t.Context(), &delivery.Told{
				Service: "email", Nonce: fmt.Sprint("id-", i), Body: []byte("same"),
				Report: &delivery.Report{Channels: []notifier.Channel{notifier.Email}, Key: &key, Phase: notifier.PhaseBounced, Reason: "transient 4.2.2"},
			})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if h.News {
				news++
			}
		})
	}
	all.Wait()
	if news != 1 {
		t.Errorf("%d were news", news)
	}
	o.wantPhases("ada", "email: accepted sent bounced(transient 4.2.2)")
	if got := o.strings(`SELECT type FROM events WHERE type = 'delivery.bounced'`); len(got) != 1 {
		t.Errorf("the stream has %v", got)
	}
	o.wantReach("ada", "ada@example.com")
}

func TestANonceIsUsedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "", "ada@example.com")
	o.send(bulkTo("ada", notifier.Email))
	o.deliver()
	key, _ := o.sentOne(notifier.Email)
	told := func(service, nonce, body string, p notifier.Phase) error {
		_, err := o.store.Tell(t.Context(), &delivery.Told{
			Service: service, Nonce: nonce, Body: []byte(body),
			Report: &delivery.Report{Channels: []notifier.Channel{notifier.Email}, Key: &key, Phase: p},
		})
		return err
	}
	must(t, told("email", "n1", "a", notifier.PhaseDelivered))
	must(t, told("email", "n1", "a", notifier.PhaseDelivered))
	if err := told("email", "n1", "b", notifier.PhaseBounced); !errors.Is(err, delivery.ErrNotGenuine) {
		t.Errorf("another body with the nonce: %v", err)
	}
	o.wantPhases("ada", "email: accepted sent delivered")
	must(t, told("push", "n1", "b", notifier.PhaseBounced)) // another service's ids are its own
	o.wantPhases("ada", "email: accepted sent delivered bounced")
}

func (o *office) wish(id, sender string, stop bool) {
	o.t.Helper()
	_, err := o.store.Tell(o.t.Context(), &delivery.Told{Service: "twilio", Wish: &delivery.Wish{
		ID: id, Channel: notifier.SMS, Address: "+12025550100", Sender: sender, Stop: stop,
	}})
	must(o.t, err)
}

func TestStopIsOfOneSenderAndAnOldOneDoesNotComeBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.contact("ada", "+12025550100", "ada@example.com")
	o.wish("SM1", "+15005550006", true)
	o.wantReach("ada", "ada@example.com")
	if got := o.strings(`SELECT sender FROM opt_outs`); !slices.Equal(got, []string{"+15005550006"}) {
		t.Errorf("opted out of %v", got)
	}
	o.turn("s", "o", "ada") // the others go on, and the fan has the offer
	o.wantSent(notifier.SMS)
	o.wantSent(notifier.Email, "ada@example.com")
	if v := o.verdict("s", "o", "ada"); v.Reason != waitlist.TurnOpen {
		t.Errorf("verdict %+v", v)
	}
	o.wish("SM2", "+15005550006", false)
	o.wantReach("ada", "+12025550100", "ada@example.com")
	o.pass(400 * 24 * time.Hour)
	must(t, o.store.RemoveOld(t.Context()))
	o.wish("SM1", "+15005550006", true) // genuine, and old
	o.wantReach("ada", "+12025550100", "ada@example.com")
	o.wish("SM3", "+15005550006", true)
	o.wantReach("ada", "ada@example.com")
}

func TestOpenedFromAnAlertIsSeenAndOpened(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	for _, fan := range []string{"ada", "bob"} {
		o.device(fan, notifier.APNs, "phone")
		o.device(fan, notifier.FCM, "tablet")
	}
	o.contact("ada", "+12025550100", "")
	o.contact("bob", "+12025550101", "")
	o.turn("s", "o", "ada", "bob")
	for range 2 {
		must(t, o.store.Opened(t.Context(), "ada", []string{"turn:s:o", "turn:s:none", "msg:x", "nonsense"}))
	}
	o.wantPhases("ada", "apns: accepted sent opened", "fcm: accepted sent opened")
	o.wantPhases("bob", "apns: accepted sent", "fcm: accepted sent")
	o.after(70 * time.Second)
	o.wantSent(notifier.SMS, "+12025550101")
}

func TestAMailBesideAPushIsNotOpenedWithItAndItsBounceIsBelieved(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.device("ada", notifier.APNs, "phone")
	o.contact("ada", "", "ada@example.com")
	o.contact("bob", "", "bob@example.com") // who can only have opened the mail
	o.turn("s", "o", "ada", "bob")
	o.after(61 * time.Second)
	for _, fan := range []string{"ada", "bob"} {
		must(t, o.store.Opened(t.Context(), fan, []string{"turn:s:o"}))
	}
	o.wantPhases("ada", "apns: accepted sent opened", "email: accepted sent")
	o.wantPhases("bob", "email: accepted sent opened")
	key := notifier.KeyOf(notifier.ItemRef{Kind: notifier.KindTurn, Ref: 1}, o.fanNo("ada"), notifier.Email, "ada@example.com")
	o.tell(delivery.Report{Channels: []notifier.Channel{notifier.Email}, Key: &key, Phase: notifier.PhaseBounced, Verdict: delivery.AddressDead})
	o.wantReach("ada")
}

func TestAPushThatTheAppCallsOpenedIsALook(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.device("ada", notifier.APNs, "phone")
	o.contact("ada", "+12025550100", "")
	o.turn("s", "o", "ada")
	key, _ := o.sentOne(notifier.APNs)
	h := o.tell(delivery.Report{Channels: notifier.Push, Key: &key, Phase: notifier.PhaseOpened})
	if h.Opened != "ada" {
		t.Errorf("%+v", h)
	}
	o.after(70 * time.Second)
	o.wantSent(notifier.SMS)
}

func TestTheSecretOfCallbacksStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, err := b.store.CallbackSecret(context.Background())
	must(t, err)
	two, err := benchOn(t, b.url).store.CallbackSecret(context.Background())
	must(t, err)
	if len(one) != 32 || string(one) != string(two) {
		t.Errorf("%d and %d bytes", len(one), len(two))
	}
}
