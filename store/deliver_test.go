package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

func TestAFanWhoIsNotConnectedIsPushedAtOnceToEveryDevice(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.stadium(waitlist.PolicyChange{Strategy: waitlist.Some(strategy)})
			phone, tablet := o.device("ada", notifier.APNs, "phone"), o.device("ada", notifier.FCM, "tablet")
			o.device("bob", notifier.FCM, "phone") // who has no turn
			o.turn("s", "o", "ada")
			o.wantSent(notifier.APNs, phone)
			o.wantSent(notifier.FCM, tablet)
			o.wantPhases("ada", "apns: accepted sent", "fcm: accepted sent")
			got := o.channels[notifier.APNs].got[0]
			if got.Item.ID != "turn:s:o" || got.Item.Title != "Your turn for Tuesday night" || !got.Expires.Equal(time.Time(*got.Item.ClosesAt)) || got.Attempt != 1 {
				t.Errorf("sent %+v", got)
			}
			o.after(70 * time.Second)
			o.wantSent(notifier.APNs, phone)
		})
	}
}

func TestAConnectedFanIsPushedWhenNoAckComesInFiveSeconds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	token := o.device("ada", notifier.APNs, "phone")
	o.device("bob", notifier.APNs, "phone")
	o.online[o.fanNo("ada")], o.online[o.fanNo("bob")] = true, true
	o.turn("s", "o", "ada", "bob")
	o.after(2 * time.Second)
	o.wantSent(notifier.APNs)
	must(t, o.store.Ack(t.Context(), "bob", []string{"turn:s:o", "nonsense", "turn:x", "msg:none"}))
	o.after(3 * time.Second)
	o.wantSent(notifier.APNs, token)
	o.wantPhases("ada", "live: sent", "apns: accepted sent")
	o.wantPhases("bob", "live: sent delivered")
}

func TestTextMessageAndMailComeAtTheirStepsUntilTheFanLooks(t *testing.T) {
	t.Parallel()
	looks := map[string]func(o *office, fan string){
		"ack":     func(o *office, fan string) { must(o.t, o.store.Ack(o.t.Context(), fan, []string{"turn:s:o"})) },
		"claim":   func(o *office, fan string) { o.claim("s", "o", fan) },
		"decline": func(o *office, fan string) { must(o.t, o.Decline(o.t.Context(), at("s", "o"), fan)) },
		"read": func(o *office, fan string) {
			_, err := o.store.MarkRead(o.t.Context(), fan, []string{"turn:s:o"})
			must(o.t, err)
		},
		"read all": func(o *office, fan string) {
			_, err := o.store.MarkAllRead(o.t.Context(), fan, o.time())
			must(o.t, err)
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.stadium(waitlist.PolicyChange{})
			for i, fan := range []string{"ada", "bob", "cy"} {
				o.device(fan, notifier.APNs, "phone")
				o.contact(fan, fmt.Sprintf("+1202555010%d", i), fan+"@example.com")
			}
			o.turn("s", "o", "ada", "bob", "cy")
			look(o, "ada")
			o.after(28 * time.Second)
			o.wantSent(notifier.SMS)
			o.after(3 * time.Second)
			o.wantSent(notifier.SMS, "+12025550101", "+12025550102")
			look(o, "bob")
			o.after(30 * time.Second)
			o.wantSent(notifier.Email, "cy@example.com")
			if u := o.channels[notifier.Email].got[0].Unsubscribe; len(u) < 30 {
				t.Errorf("the mail's unsubscribe link is %q", u)
			}
		})
	}
}

func TestNoStepComesLaterThanHalfOfTheWindow(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.show("s", waitlist.PolicyChange{ClaimWindowS: waitlist.Some(20)}) // 50 turns a second
	var fans, phones, mails []string
	for i := range 60 {
		fan := fmt.Sprintf("f%02d", i)
		o.device(fan, notifier.APNs, "phone")
		fans, phones, mails = append(fans, fan), append(phones, fmt.Sprintf("+120255501%02d", i)), append(mails, fan+"@example.com")
		o.contact(fan, phones[i], mails[i])
	}
	o.join("s", fans...)
	o.free("s", "o", 60)
	o.decide()
	opens := *o.verdict("s", "o", "f59").OpensAt
	for o.time().Before(opens.Add(9 * time.Second)) {
		o.pass(100 * time.Millisecond)
		o.deliver()
	}
	o.pass(time.Second)
	o.deliver()
	o.wantSent(notifier.SMS, phones...)
	o.wantSent(notifier.Email, mails...)
	if n := len(o.channels[notifier.APNs].to()); n != 60 {
		t.Errorf("%d pushes, want 60", n)
	}
}

func TestAFailureForGoodMovesOnToTheNextChannelAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.device("ada", notifier.APNs, "phone")
	o.device("ada", notifier.APNs, "old")
	o.contact("ada", "+12025550101", "ada@example.com")
	o.contact("bob", "+12025550102", "")
	o.contact("cy", "", "cy@example.com")
	o.channels[notifier.APNs].say(delivery.Refused)
	o.channels[notifier.SMS].answer = func(e *delivery.Envelope) delivery.Verdict {
		if e.Address.To == "+12025550101" {
			return delivery.Verdict{Outcome: delivery.OptedOut, Reason: "21610", Sender: "+12025550000"}
		}
		return delivery.Verdict{Outcome: delivery.Accepted}
	}
	o.turn("s", "o", "ada", "bob", "cy")
	o.wantSent(notifier.SMS, "+12025550101", "+12025550102") // bob has no device
	o.wantSent(notifier.Email, "ada@example.com", "cy@example.com")
	o.wantPhases("ada", "apns: accepted failed(because)", "apns: accepted failed(because)", "sms: accepted failed(21610)", "email: accepted sent")
}

func TestARefusedTokenIsKeptAndADeadOneIsNot(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[delivery.Outcome]int{
		delivery.Refused: 1, delivery.Retry: 1, delivery.Unsure: 1, delivery.Misconfigured: 1, delivery.Throttled: 1,
		delivery.AddressThrottled: 1, delivery.OtherProject: 1, delivery.AddressDead: 0,
	} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.stadium(waitlist.PolicyChange{})
			o.device("ada", notifier.FCM, "phone")
			o.pass(time.Second)
			o.channels[notifier.FCM].say(outcome)
			o.turn("s", "o", "ada")
			devices, err := o.store.Devices(t.Context(), "ada")
			if err != nil || len(devices) != want {
				t.Errorf("after %s: %v, %v", outcome, devices, err)
			}
		})
	}
}

func TestATokenOfAnotherProjectIsKeptAndNotUsedUntilItIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	token := o.device("ada", notifier.FCM, "phone")
	o.contact("ada", "+12025550101", "")
	o.channels[notifier.FCM].say(delivery.OtherProject)
	o.turn("s", "o", "ada")
	o.wantSent(notifier.SMS, "+12025550101") // at once
	if d, err := o.store.Device(t.Context(), "ada", "phone"); err != nil || d.Used {
		t.Errorf("the device is %+v, %v", d, err)
	}
	o.wantSent(notifier.FCM, token)
	o.device("ada", notifier.FCM, "phone")
	if d, err := o.store.Device(t.Context(), "ada", "phone"); err != nil || !d.Used {
		t.Errorf("registered again, the device is %+v, %v", d, err)
	}
}

func TestNoneIsRetiredWhileTooManyAreCalledDead(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.device("ada", notifier.FCM, "phone")
	o.pass(time.Second)
	o.retire.never = true
	o.channels[notifier.FCM].say(delivery.AddressDead)
	o.turn("s", "o", "ada")
	if devices, err := o.store.Devices(t.Context(), "ada"); err != nil || len(devices) != 1 {
		t.Errorf("%v, %v", devices, err)
	}
	if n := o.p.Stats().Kept.Load(); n != 1 {
		t.Errorf("%d kept", n)
	}
}

func TestABadTokenHasOneTryInTheOtherEnvironment(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	ada, bob := o.device("ada", notifier.APNs, "phone"), o.device("bob", notifier.APNs, "phone")
	var mu sync.Mutex
	var tried []string
	o.channels[notifier.APNs].answer = func(e *delivery.Envelope) delivery.Verdict {
		mu.Lock()
		defer mu.Unlock()
		tried = append(tried, e.Address.To[len(e.Address.To)-2:]+e.Address.Environment)
		if e.Address.To == ada && e.Address.Environment == "sandbox" {
			return delivery.Verdict{Outcome: delivery.Accepted}
		}
		return delivery.Verdict{Outcome: delivery.OtherEnvironment, Reason: "400 BadDeviceToken"}
	}
	o.turn("s", "o", "ada", "bob")
	o.wantSent(notifier.APNs, ada, ada, bob, bob)
	for fan, want := range map[string]delivery.Device{"ada": {Environment: "sandbox", Used: true}, "bob": {Environment: "production"}} {
		d, err := o.store.Device(t.Context(), fan, "phone")
		if err != nil || d.Environment != want.Environment || d.Used != want.Used {
			t.Errorf("%s: %+v, %v", fan, d, err)
		}
	}
	o.wantPhases("ada", "apns: accepted sent")
	o.wantPhases("bob", "apns: accepted failed(400 BadDeviceToken)")
}

func TestARetryCarriesTheSameKeyAndComesUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	token := o.device("ada", notifier.APNs, "phone")
	o.device("bob", notifier.APNs, "phone")
	answers := []delivery.Outcome{delivery.Retry, delivery.Unsure, delivery.Accepted}
	var n atomic.Int32
	o.channels[notifier.APNs].answer = func(e *delivery.Envelope) delivery.Verdict {
		if e.Address.To != token {
			return delivery.Verdict{Outcome: delivery.Accepted}
		}
		return delivery.Verdict{Outcome: answers[n.Add(1)-1], Reason: "503"}
	}
	o.turn("s", "o", "ada", "bob")
	o.after(10 * time.Second)
	keys, unsure, to := map[notifier.DeliveryKey]int{}, 0, 0
	for _, e := range o.channels[notifier.APNs].got {
		if e.Address.To == token {
			keys[e.Key]++
			if to++; e.Attempt != to {
				t.Errorf("attempt %d is called %d", to, e.Attempt)
			}
		}
		if e.LastUnsure {
			unsure++
		}
	}
	if to != 3 || len(keys) != 1 || unsure != 1 || o.p.Stats().Unsure.Load() != 1 || len(o.channels[notifier.APNs].got) != 4 {
		t.Errorf("%d attempts with %d keys, %d after an unsure one", to, len(keys), unsure)
	}
	o.wantPhases("ada", "apns: accepted queued(503) sent")
}

func TestARetryThatWouldComeTooLateMovesOnAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.device("ada", notifier.APNs, "phone")
	o.contact("ada", "+12025550101", "")
	o.channels[notifier.APNs].answer = func(*delivery.Envelope) delivery.Verdict {
		return delivery.Verdict{Outcome: delivery.Retry, Reason: "503", RetryAfter: 15 * time.Minute}
	}
	o.turn("s", "o", "ada")
	o.wantSent(notifier.SMS, "+12025550101")
	o.wantPhases("ada", "apns: accepted failed(expired: 503)", "sms: accepted sent")
}

func TestWrongSettingsHaveWorkWaitAndTurnsMoveOn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	token := o.device("ada", notifier.APNs, "phone")
	o.contact("ada", "+12025550101", "")
	o.channels[notifier.APNs].say(delivery.Misconfigured)
	o.turn("s", "o", "ada")
	o.wantSent(notifier.SMS, "+12025550101")
	if n := o.p.Stats().Misconfigured.Load(); n != 1 {
		t.Errorf("%d alarms", n)
	}
	o.channels[notifier.APNs].answer = nil
	o.restart() // with the right settings
	o.after(35 * time.Second)
	o.wantSent(notifier.APNs, token, token)
	o.wantPhases("ada", "apns: accepted queued(because) sent", "sms: accepted sent")
}

func TestNothingIsSentOfATurnThatSalesClosedOn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.device("ada", notifier.APNs, "phone")
	o.join("s", "ada")
	o.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(ptr(morning.Add(time.Minute)))})
	o.free("s", "o", 1)
	o.decide()
	o.pass(2 * time.Minute) // the workers stood still
	o.deliver()
	o.wantSent(notifier.APNs)
	o.wantPhases("ada", "apns: skipped(sales_closed)")
}

func TestASendThatWaitedIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for reason, end := range map[string]func(o *office){
		"sales_closed": func(o *office) {
			o.change("s", waitlist.ShowChange{SalesCloseAt: waitlist.Some(ptr(o.time()))})
		},
		"cancelled": func(o *office) { must(o.t, o.CancelShow(o.t.Context(), "s")) },
		"turn_over": func(o *office) { o.pass(700 * time.Second) },
		"seen":      func(o *office) { must(o.t, o.store.Ack(o.t.Context(), "ada", []string{"turn:s:o"})) },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.stadium(waitlist.PolicyChange{})
			o.device("ada", notifier.APNs, "phone")
			o.join("s", "ada")
			o.free("s", "o", 1)
			o.decide()
			o.pass(time.Second)
			_, err := o.store.FireAlerts(t.Context(), o.p.Channels(), 10)
			must(t, err)
			for _, j := range o.take() {
				must(t, o.work(j)) // the plan; its send waits in the queue
			}
			end(o)
			o.deliver()
			o.wantSent(notifier.APNs)
			o.wantPhases("ada", "apns: skipped("+reason+")")
		})
	}
}

func TestAMovedTokenGetsNothingOfItsFormerOwner(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	token := o.device("ada", notifier.APNs, "phone")
	draft := delivery.Draft{
		Key:   notifier.KeyOf(notifier.ItemRef{Kind: notifier.KindTurn, Ref: 1}, o.fanNo("ada"), notifier.APNs, token),
		FanNo: o.fanNo("ada"), Item: notifier.ItemRef{Kind: notifier.KindTurn, Ref: 1}, ItemID: "turn:s:o", Moment: morning,
		Lane: notifier.Turns, Channel: notifier.APNs, AddressRef: "phone", Token: token,
	}
	_, _, err := o.store.PutDevice(t.Context(), "bob", "phone", func(d *delivery.Device) error {
		d.Platform, d.Token = notifier.APNs, token
		return d.Check(false)
	})
	must(t, err)
	leases, err := o.store.Lease(t.Context(), []delivery.Draft{draft}, time.Second)
	if err != nil || leases[0].Mine || leases[0].State != "" {
		t.Errorf("leased %+v, %v", leases, err)
	}
	o.wantPhases("ada")
}

func TestOneOfManyHasALease(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var drafts []delivery.Draft
	for i := range 50 {
		item := notifier.ItemRef{Kind: notifier.KindMessage, Ref: int64(i)}
		drafts = append(drafts, delivery.Draft{
			Key: notifier.KeyOf(item, 1, notifier.SMS, "+12025550101"), FanNo: 1, Item: item, Moment: morning,
			Lane: notifier.Bulk, Channel: notifier.SMS, AddressRef: "phone",
		})
	}
	var mu sync.Mutex
	mine := map[notifier.DeliveryKey]int{}
	var all sync.WaitGroup
	for i := range 20 {
		list := slices.Clone(drafts)
		if i%2 == 1 {
			slices.Reverse(list)
		}
		all.Go(func() {
			leases, err := o.store.Lease(context.Background(), list, 30*time.Second)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range leases {
				if leases[i].Mine {
					mine[list[i].Key]++
				}
			}
		})
	}
	all.Wait()
	for _, d := range drafts {
		if mine[d.Key] != 1 {
			t.Errorf("%s was leased %d times", d.Key, mine[d.Key])
		}
	}
}

func TestAJobThatRunsTwiceAtOnceSendsOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	var fans, tokens []string
	for i := range 40 {
		fans = append(fans, fmt.Sprintf("f%02d", i))
		tokens = append(tokens, o.device(fans[i], notifier.APNs, "phone"))
	}
	o.join("s", fans...)
	o.free("s", "o", 40)
	o.decide()
	o.pass(time.Second)
	_, err := o.store.FireAlerts(t.Context(), o.p.Channels(), 10)
	must(t, err)
	for _, j := range o.take() {
		must(t, o.work(j))
	}
	var all sync.WaitGroup
	for _, j := range o.take() {
		a := read[notifier.SendArgs](t, j.args)
		for range 4 {
			all.Go(func() { _ = o.p.Send(context.Background(), a) }) // some are to come again
		}
	}
	all.Wait()
	o.wantSent(notifier.APNs, tokens...)
}

func TestWhatAProcessThatDiedMayHaveSentIsSentAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	token := o.device("ada", notifier.APNs, "phone")
	o.join("s", "ada")
	o.free("s", "o", 1)
	o.decide()
	o.pass(time.Second)
	o.exec(`INSERT INTO deliveries (day, key, fan_no, kind, ref, item, lane, channel, address_ref, state, next_at, attempts, phase, phases, created_at)
		SELECT $1, $2, $3, 'turn', opening_no, 'turn:s:o', 'turns', 'apns', 'phone', 'leased', $4, 1, 'accepted', '[]', $4 FROM openings`,
		morning, keyOf(o, "ada", token), o.fanNo("ada"), o.time().Add(30*time.Second))
	a := notifier.SendArgs{Lane: notifier.Turns, Channel: notifier.APNs, Opening: 1, Fans: []int64{o.fanNo("ada")}}
	err := o.p.Send(t.Context(), a)
	if later, ok := err.(*notifier.Later); !ok || later.After > 30*time.Second {
		t.Errorf("while it is leased: %v", err)
	}
	o.wantSent(notifier.APNs)
	o.pass(31 * time.Second)
	must(t, o.p.Send(t.Context(), a))
	o.wantSent(notifier.APNs, token)
	if e := o.channels[notifier.APNs].got[0]; e.Attempt != 2 || !e.LastUnsure {
		t.Errorf("sent %+v", e)
	}
}

func keyOf(o *office, fan, token string) []byte {
	k := notifier.KeyOf(notifier.ItemRef{Kind: notifier.KindTurn, Ref: 1}, o.fanNo(fan), notifier.APNs, token)
	return k[:]
}

func TestPostgresDecidesWhateverRedisKnows(t *testing.T) {
	t.Parallel()
	redis := storetest.RedisServer(t)
	o := officeOn(newStopped(t), redis.URL())
	o.stadium(waitlist.PolicyChange{})
	var fans, tokens []string
	for i := range 30 {
		fans = append(fans, fmt.Sprintf("f%02d", i))
		tokens = append(tokens, o.device(fans[i], notifier.APNs, "phone"))
	}
	var n atomic.Int32
	o.channels[notifier.APNs].answer = func(*delivery.Envelope) delivery.Verdict {
		if n.Add(1) == 10 {
			redis.Kill() // mid-way
		}
		return delivery.Verdict{Outcome: delivery.Accepted}
	}
	o.join("s", fans...)
	o.free("s", "o", 30)
	o.decide()
	o.pass(time.Second)
	_, err := o.store.FireAlerts(t.Context(), o.p.Channels(), 10)
	must(t, err)
	jobs := o.take()
	for range 2 { // again, as after a day or a loss of Redis
		for _, j := range jobs {
			must(t, o.work(j))
			for _, j := range o.take() {
				must(t, o.work(j))
				must(t, o.work(j))
			}
		}
		o.restart()
	}
	o.wantSent(notifier.APNs, tokens...)
}

// When all tokens are called bad it is we who are wrong: none is retired.
func TestAThousandBadTokensRetireNone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.guard = delivery.NewRetireGuard(slog.New(slog.DiscardHandler))
	o.restart()
	o.show("s", waitlist.PolicyChange{})
	o.crowd(300)
	o.channels[notifier.APNs].say(delivery.OtherEnvironment)
	o.announce("s", "a1")
	o.pass(6 * time.Second)
	o.deliver()
	if unused := o.strings(`SELECT device_id FROM devices WHERE NOT used`); len(unused) > 0 {
		t.Errorf("%d devices are out of use", len(unused))
	}
	if n := len(o.channels[notifier.APNs].to()); n != 400 {
		t.Errorf("%d attempts, want two for each of 200", n)
	}
}

// shaky is an Outbox whose Postgres is away for some records of what was sent.
type shaky struct {
	*store.Store
	away atomic.Int32
}

func (s *shaky) Put(ctx context.Context, results []delivery.Result, then []notifier.PlanArgs) error {
	if results[0].State == delivery.StateSent && s.away.Add(-1) >= 0 {
		return errors.New("postgres is away")
	}
	return s.Store.Put(ctx, results, then)
}

func TestWhatAProviderTookIsNotSentAgainThoughPostgresWasAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]int32{"for a moment": 2, "for longer than the job": 12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			box := &shaky{Store: o.store}
			o.outbox = box
			o.restart()
			token := o.device("ada", notifier.APNs, "phone")
			o.send(urgent("ada", "Code 1"))
			must(t, o.work(o.take()[0]))
			box.away.Store(away)
			a := notifier.SendArgs{Lane: notifier.Transactional, Channel: notifier.APNs, Messages: []int64{1}}
			if err := o.p.Send(t.Context(), a); (err != nil) != (away > 2) {
				t.Errorf("the job: %v", err)
			}
			o.pass(time.Minute)
			a.Again = true
			must(t, o.p.Send(t.Context(), a))
			o.wantSent(notifier.APNs, token)
			o.wantPhases("ada", "apns: accepted sent")
		})
	}
}
