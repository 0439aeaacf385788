package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// crowd joins n fans, of whom every third has no device.
func (o *office) crowd(n int) (tokens []string) {
	o.t.Helper()
	o.exec(`INSERT INTO fans (fan_id) SELECT 'f' || to_char(i, 'FM0000') FROM generate_series(0, $1 - 1) i`, n)
	o.exec(`INSERT INTO devices (fan_no, device_id, platform, token, environment, registered_at)
		SELECT fan_no, 'phone', 'apns', 'aa' || to_char(fan_no, 'FM00000000'), 'production', $1 FROM fans WHERE fan_no % 3 <> 0`, morning)
	o.exec(`INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT 1, fan_no, fan_no, fan_no, '', 1, $1, 0 FROM fans`, morning)
	o.exec(`UPDATE lines SET next_eno = $1 + 1, next_place = $1 + 1, decision = 1`, n)
	return o.strings(`SELECT token FROM devices WHERE fan_no <> 7 ORDER BY token`)
}

func TestABlastReachesEveryoneInLineOnceWhateverDies(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(strategy)})
			tokens := o.crowd(2500)
			o.exec(`UPDATE entries SET state = 'left' WHERE eno = 7`)
			o.announce("s", "a1")
			o.join("s", "late")
			o.device("late", notifier.APNs, "phone")
			o.pass(6 * time.Second)
			for n := 0; ; n++ {
				jobs := o.take()
				if len(jobs) == 0 {
					break
				}
				for _, j := range jobs {
					if j.kind == "blast" {
						a := read[notifier.BlastArgs](t, j.args)
						must(t, o.store.NextChunk(t.Context(), a)) // and then the process died
						must(t, o.store.NextChunk(t.Context(), a))
					}
					must(t, o.work(j))
					must(t, o.work(j)) // a job may run twice
				}
				if n > 50 {
					t.Fatal("the chain does not end")
				}
			}
			got := o.channels[notifier.APNs].to()
			if !slices.Equal(got, tokens) {
				t.Errorf("%d were sent something, want %d", len(got), len(tokens))
			}
			o.wantPhases("late")
		})
	}
}

func TestAChunkThatRunsOnTwoProcessesDoesNotForkTheChain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.show("s", waitlist.PolicyChange{})
	o.crowd(2000)
	a := o.announce("s", "a1")
	must(t, o.store.StartBlasts(t.Context(), a.No, []notifier.Channel{notifier.APNs}))
	must(t, o.store.StartBlasts(t.Context(), a.No, []notifier.Channel{notifier.APNs}))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := o.store.NextChunk(t.Context(), notifier.BlastArgs{Announcement: a.No, Channel: notifier.APNs}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var blasts []string
	for _, j := range o.take() {
		if j.kind == "blast" {
			blasts = append(blasts, j.args)
		}
	}
	if len(blasts) != 2 { // the first and the one that follows it
		t.Errorf("queued %v", blasts)
	}
}

func TestAChunkIsFoundWithoutReadingTheRestOfTheLine(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.show("s", waitlist.PolicyChange{})
	o.crowd(5000)
	must(t, o.store.Exec(t.Context(), `VACUUM ANALYZE`))
	var show int32
	must(t, o.store.Pool().QueryRow(t.Context(), `SELECT show_no FROM shows`).Scan(&show))
	to, read, err := o.store.WalkedForChunk(t.Context(), show, notifier.BlastArgs{Channel: notifier.APNs})
	must(t, err)
	if to < 500 || to > 1500 || read < to || read > to+500 {
		t.Errorf("the chunk ends at entry %d, for which %d entries of 5000 were read", to, read)
	}
}

func TestWhoSawAnAnnouncementLiveIsNotPushed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.show("s", waitlist.PolicyChange{})
	o.join("s", "ada", "bob")
	o.device("ada", notifier.APNs, "phone")
	bob := o.device("bob", notifier.APNs, "phone")
	o.announce("s", "a1")
	must(t, o.store.Ack(t.Context(), "ada", []string{"ann:s:a1"}))
	o.pass(6 * time.Second)
	o.deliver()
	o.wantSent(notifier.APNs, bob)
	o.wantPhases("ada", "apns: skipped(seen)")
}

func TestQuietHoursHoldBulkBackAndNothingUrgent(t *testing.T) {
	t.Parallel()
	o := newOffice(t) // at 09:00 UTC
	for i, fan := range []string{"ada", "bob", "cy"} {
		o.device(fan, notifier.APNs, "phone")
		o.profile(fan, func(p *delivery.Profile) error {
			if err := p.SetTimeZone("Asia/Kathmandu"); err != nil { // 14:45 there
				return err
			}
			return p.SetQuiet("14:00", []string{"15:00", "23:00", "15:00"}[i])
		})
	}
	held, late, code := bulk("ada", "News"), bulk("bob", "News"), urgent("cy", "Code 1234")
	late.TTL = time.Hour
	o.send(held, late, code)
	o.deliver()
	o.wantPhases("ada", "apns: queued(quiet_hours)")
	o.wantPhases("bob", "apns: skipped(quiet_hours)")
	o.wantPhases("cy", "apns: accepted sent")
	o.pass(16 * time.Minute)
	o.deliver()
	o.wantPhases("ada", "apns: queued(quiet_hours) sent")
}

func TestAMessageWaitsForNoStepThatHasNoHope(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.contact("ada", "+12025550101", "ada@example.com")
	o.device("ada", notifier.APNs, "phone")
	code := urgent("ada", "Code 1234")
	code.Channels = []notifier.Channel{notifier.SMS}
	o.send(code)
	o.deliver()
	o.wantSent(notifier.SMS, "+12025550101")
	if got := o.channels[notifier.SMS].got[0]; got.Item.Title != "Code 1234" || got.Item.ID[:4] != "msg:" || got.Unsubscribe != "" {
		t.Errorf("sent %+v", got)
	}
	o.after(70 * time.Second)
	o.wantSent(notifier.APNs)
	o.wantSent(notifier.Email)
	if left := o.strings(`SELECT title || body FROM messages WHERE NOT erased`); len(left) > 0 {
		t.Errorf("after the last send its text is still there: %q", left)
	}
}

func TestAMessageToAConnectedFanIsPushedWithoutAnAckAndKeptUntilThen(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, _ := o.device("ada", notifier.APNs, "phone"), o.device("bob", notifier.APNs, "phone")
	o.online[o.fanNo("ada")], o.online[o.fanNo("bob")] = true, true
	sent := o.send(urgent("ada", "Code 1"), urgent("bob", "Code 2"))
	o.deliver()
	o.wantSent(notifier.APNs)
	must(t, o.store.Ack(t.Context(), "bob", []string{"msg:" + sent[1].ID}))
	must(t, o.store.Ack(t.Context(), "bob", []string{"msg:" + sent[0].ID})) // not bob's
	o.after(6 * time.Second)
	o.wantSent(notifier.APNs, ada)
	o.wantPhases("bob", "live: sent delivered")
	o.wantPhases("ada", "live: sent", "apns: accepted sent")
}

func TestADeliveryAskedForAgainIsDeduplicated(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.device("ada", notifier.APNs, "phone")
	o.send(urgent("ada", "Code 1"))
	o.deliver()
	a := notifier.SendArgs{Lane: notifier.Transactional, Channel: notifier.APNs, Messages: []int64{1}}
	must(t, o.p.Send(t.Context(), a))
	if n := len(o.channels[notifier.APNs].got); n != 1 {
		t.Errorf("sent %d times", n)
	}
	got := o.strings(`SELECT type || ' ' || (data->>'channel') FROM events WHERE data->>'item' IS NOT NULL ORDER BY id`)
	if want := []string{"delivery.accepted apns", "delivery.sent apns", "delivery.deduplicated apns"}; !slices.Equal(got, want) {
		t.Errorf("the stream says %v, want %v", got, want)
	}
	for _, e := range o.strings(`SELECT data::text FROM events`) {
		if fmt.Sprint(e) == "" || slices.Contains([]string{"Code 1"}, e) {
			t.Errorf("an event says %s", e)
		}
	}
}

// chunks are how many chunks of blasts there are, by announcement.
func (o *office) chunks(jobs []job) map[int64]int {
	o.t.Helper()
	n := map[int64]int{}
	for _, j := range jobs {
		if j.kind == "blast" {
			n[read[notifier.BlastArgs](o.t, j.args).Announcement]++
		}
	}
	return n
}

func TestABlastWhoseChannelIsDownQueuesFewChunksAndGoesOnWhenItIsBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.show("s", waitlist.PolicyChange{})
	tokens := o.crowd(7_500) // 10 chunks
	tokens = append(tokens, o.strings(`SELECT token FROM devices WHERE fan_no = 7`)...)
	o.channels[notifier.APNs].say(delivery.Retry)
	a := o.announce("s", "a1")
	o.pass(6 * time.Second)
	for range 7 {
		for _, j := range o.take() {
			must(t, o.work(j))
		}
		o.pass(2 * time.Second)
		waits := slices.Clone(o.later)
		jobs := make([]job, len(waits))
		for i, l := range waits {
			jobs[i] = l.job
		}
		if n := o.chunks(jobs)[a.No]; n > 8 {
			t.Fatalf("%d chunks of one blast wait for a channel that is down", n)
		}
	}
	o.channels[notifier.APNs].mu.Lock()
	o.channels[notifier.APNs].answer, o.channels[notifier.APNs].got = nil, nil
	o.channels[notifier.APNs].mu.Unlock()
	o.restart()
	for range 20 {
		o.pass(time.Minute)
		o.deliver()
	}
	slices.Sort(tokens)
	if got := o.channels[notifier.APNs].to(); !slices.Equal(got, tokens) {
		t.Errorf("%d were sent it after all, want %d", len(got), len(tokens))
	}
}

func TestABlastReadsOnlyThoseWhoCanBeReached(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.show("s", waitlist.PolicyChange{})
	o.crowd(300)
	o.contact("f0000", "+12025550101", "f@example.com")
	a := o.announce("s", "a1")
	for channel, want := range map[notifier.Channel]int{notifier.APNs: 200, notifier.FCM: 0, notifier.SMS: 1, notifier.Email: 1} {
		parcels, err := o.store.Parcels(t.Context(), delivery.Batch{Announcement: a.No, Channel: channel, To: 1000}, false)
		if err != nil || len(parcels) != want {
			t.Errorf("%s: %d parcels, %v, want %d", channel, len(parcels), err, want)
		}
	}
}
