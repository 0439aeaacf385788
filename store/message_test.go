package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/waitlist"
)

func urgent(fan, title string) notifier.NewMessage {
	return notifier.NewMessage{FanID: fan, Lane: notifier.Transactional, Type: "login_code", Title: title, Body: "Your code", TTL: notifier.UrgentTTL}
}

func bulk(fan, title string) notifier.NewMessage {
	return notifier.NewMessage{FanID: fan, Lane: notifier.Bulk, Type: "news", Title: title, Body: "News", TTL: notifier.BulkTTL, Inbox: true}
}

func (b *bench) send(list ...notifier.NewMessage) []notifier.Accepted {
	b.t.Helper()
	got, err := b.store.Accept(b.t.Context(), "shop", list)
	must(b.t, err)
	return got
}

func TestOfAHundredAtOnceOneMessageIsNewAndTheOthersHaveItsID(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"dedup_key": "k1", "hash": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			other := benchOn(t, b.url)
			m := urgent("ada", "Code 1234")
			m.DedupKey = key
			var mu sync.Mutex
			fresh, ids := 0, map[string]bool{}
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					s := b.store
					if i%2 == 1 {
						s = other.store
					}
					got, err := s.Accept(t.Context(), "shop", []notifier.NewMessage{m})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					ids[got[0].ID] = true
					if !got[0].Duplicate {
						fresh++
					}
				})
			}
			all.Wait()
			if fresh != 1 || len(ids) != 1 {
				t.Errorf("%d were new, with %d ids; want 1 and 1", fresh, len(ids))
			}
			if n := b.rowsIn("messages"); n != 1 {
				t.Errorf("%d messages are stored", n)
			}
		})
	}
}

func TestAMessageIsTheFirstOneAgainFor24HoursOfItsKeyAndAMinuteWithoutOne(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	keyed, plain := urgent("ada", "one"), urgent("ada", "two")
	keyed.DedupKey = "k"
	first := b.send(keyed, plain)
	keyed.Title = "whatever the body"
	for _, step := range []struct {
		of    int
		at    time.Duration
		again bool
	}{
		{0, 0, true},
		{1, time.Minute - ms, true},
		{1, time.Minute, false}, // from the first on, not from the last
		{0, 24*time.Hour - ms, true},
		{0, 24 * time.Hour, false},
	} {
		b.at(morning.Add(step.at))
		got := b.send([]notifier.NewMessage{keyed, plain}[step.of])[0]
		if got.Duplicate != step.again || step.again != (got.ID == first[step.of].ID) {
			t.Errorf("message %d after %s is %+v, first %s", step.of, step.at, got, first[step.of].ID)
		}
	}
}

func TestAKeyIsOneOfItsFanAndAPIKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a, other := urgent("ada", "x"), urgent("ben", "x")
	a.DedupKey, other.DedupKey = "k", "k"
	got := b.send(a, other)
	if got[0].Duplicate || got[1].Duplicate {
		t.Errorf("messages to two fans: %+v", got)
	}
	of, err := b.store.Accept(t.Context(), "box", []notifier.NewMessage{a})
	must(t, err)
	if of[0].Duplicate {
		t.Error("a message of another API key is taken for the first one's")
	}
	if got := b.send(a); !got[0].Duplicate {
		t.Error("the first one again is taken as new")
	}
}

func TestTwinsInOneRequestAreOneMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.send(urgent("ada", "x"), urgent("ben", "x"), urgent("ada", "x"), urgent("ada", "y"))
	var again []bool
	for _, a := range got {
		again = append(again, a.Duplicate)
	}
	if !slices.Equal(again, []bool{false, false, true, false}) || got[0].ID != got[2].ID {
		t.Errorf("%+v", got)
	}
}

func TestAThousandMessagesCostAHandfulOfJobsAndOneEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var list []notifier.NewMessage
	for i := range 1000 {
		m := bulk(fmt.Sprint("f", i), "hello "+fmt.Sprint(i))
		if i%4 == 0 {
			m = urgent(fmt.Sprint("f", i), "code "+fmt.Sprint(i))
		}
		list = append(list, m)
	}
	b.send(list...)
	jobs := b.strings(`SELECT queue || ' ' || jsonb_array_length(args->'messages') FROM river_job WHERE kind = 'route' ORDER BY id`)
	want := []string{
		"lane_transactional 200", "lane_transactional 50",
		"lane_bulk 200", "lane_bulk 200", "lane_bulk 200", "lane_bulk 150",
	}
	if !slices.Equal(jobs, want) {
		t.Errorf("jobs %q, want %q", jobs, want)
	}
	if n := b.rowsIn("events WHERE type = 'message.accepted'"); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := b.rowsIn("inbox WHERE kind = 'message'"); n != 750 {
		t.Errorf("%d inbox rows, want those of the bulk lane alone", n)
	}
}

func TestTextsOfMessagesAreInNoJobAndNoEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := urgent("ada", "secret-title")
	m.Body, m.Data = "secret-body", json.RawMessage(`{"code":"secret-data"}`)
	b.send(m)
	for _, sql := range []string{`SELECT args::text FROM river_job`, `SELECT coalesce(data::text, '') FROM events`} {
		for _, text := range b.strings(sql) {
			if strings.Contains(text, "secret") {
				t.Errorf("%s: %s", sql, text)
			}
		}
	}
}

func TestAMessageOfTheInboxIsPushedAndPickedUpAsTheSameItem(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	v := b.viewer("ada")
	m := bulk("ada", "Doors at 7")
	m.Data = json.RawMessage(`{"gate": "B"}`)
	id := "msg:" + b.send(m)[0].ID
	news := v.news()
	if len(news) != 1 {
		t.Fatalf("news %+v", news)
	}
	items, unread, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{Limit: 10})
	must(t, err)
	if len(items) != 1 || unread != 1 {
		t.Fatalf("inbox %+v, %d unread", items, unread)
	}
	pushed, kept := jsonText(t, news[0].Item), jsonText(t, items[0])
	if pushed != kept || items[0].ID != id || items[0].Title != "Doors at 7" || items[0].Lane != notifier.Bulk || items[0].Type != "news" {
		t.Errorf("pushed %s, kept %s", pushed, kept)
	}
	v.wantBacklog("ada", 10, "ada "+id+" ")
	_, err = b.store.MarkRead(t.Context(), "ada", []string{id})
	must(t, err)
	b.wantInbox("ada", id+" ")
}

func TestAMessageBesideTheInboxIsPushedOnceAndNotReplayed(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	v := b.viewer("ada", "ben")
	id := b.send(urgent("ada", "Code"))[0].ID
	v.want("ada msg:" + id + " ")
	v.want()
	v.wantBacklog("ada", 10)
	b.wantInbox("ada")
	away := b.viewer("ben")
	quiet := urgent("ben", "by mail alone")
	quiet.Channels = []notifier.Channel{notifier.Email}
	b.send(quiet)
	away.want()
}

func TestWhoLeavesOutLiveIsNotPushedAMessageLiveAndPicksItUp(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.prefer("ada", notifier.KindMessage, "push", "email")
	v := b.viewer("ada")
	feed := b.store.Feed()
	before := b.time().Add(-time.Second)
	code, news, shown := urgent("ada", "Code"), bulk("ada", "News"), bulk("ada", "Shown")
	shown.Channels = []notifier.Channel{notifier.Live}
	id := "msg:" + b.send(code, news)[1].ID
	b.pass(time.Second)
	told := "msg:" + b.send(shown)[0].ID
	v.want("ada " + told + " ")
	v.want()
	if got := b.inbox("ada"); len(got) != 2 {
		t.Errorf("inbox %q", got)
	}
	v.wantBacklog("ada", 10, "ada "+id+" ", "ada "+told+" ")
	fan, err := b.store.FanNo(t.Context(), "ada")
	must(t, err)
	missed, err := feed.Replay(t.Context(), fan, live.Span{Since: before, Until: b.time(), Limit: 10})
	must(t, err)
	if len(missed.Items) != 2 {
		t.Errorf("a replay from before them has %+v", missed.Items)
	}
}

func TestATurnIsShownOverTheSocketWhateverTheFanPrefers(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.stadium(waitlist.PolicyChange{})
	o.join("s", "ada")
	token := o.device("ada", notifier.APNs, "phone")
	o.prefer("ada", notifier.KindTurn, "push")
	o.online[o.fanNo("ada")] = true
	v := o.viewer("ada")
	o.turn("s", "o", "ada")
	v.want("ada turn:s:o open")
	o.wantSent(notifier.APNs, token) // and no ack is waited for
	o.wantPhases("ada", "apns: accepted sent")
}

// prefer has a fan hear of a kind by channels.
func (b *bench) prefer(fan string, kind notifier.Kind, channels ...string) {
	b.t.Helper()
	_, err := b.store.PutProfile(b.t.Context(), fan, func(p *delivery.Profile) error { return p.SetChannels(kind, channels) })
	must(b.t, err)
}

func TestAnErasedOrExpiredMessageIsNotPushed(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	v := b.viewer("ada")
	b.send(urgent("ada", "erased"))
	must(t, b.store.EraseMessageTexts(t.Context(), []int64{1}))
	b.send(urgent("ada", "late"))
	b.at(morning.Add(notifier.UrgentTTL))
	v.want()
}

func TestTheTextOfATransactionalMessageGoesWithItsLastSendOrItsTime(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	listed, sent, waits, news := urgent("ada", "listed"), urgent("ada", "sent"), urgent("ada", "waits"), bulk("ada", "news")
	listed.Inbox, news.TTL = true, time.Minute
	got := b.send(listed, sent, waits)
	b.at(morning.Add(ms))
	got = append(got, b.send(news)...)
	must(t, b.store.EraseMessageTexts(t.Context(), []int64{1, 2, 4}))
	wantTexts := func(want ...string) {
		t.Helper()
		if got := b.strings(`SELECT title FROM messages ORDER BY msg_no`); !slices.Equal(got, want) {
			t.Errorf("texts %q, want %q", got, want)
		}
	}
	wantTexts("listed", "", "waits", "news")
	b.at(morning.Add(notifier.UrgentTTL - ms))
	must(t, b.store.RemoveOld(t.Context()))
	wantTexts("listed", "", "waits", "news")
	b.wantInbox("ada", "msg:"+got[3].ID+" *", "msg:"+got[0].ID+" *")
	b.at(morning.Add(notifier.UrgentTTL))
	b.wantInbox("ada", "msg:"+got[3].ID+" *") // before anything is removed
	must(t, b.store.RemoveOld(t.Context()))
	wantTexts("", "", "", "news")
	m, err := b.store.Message(t.Context(), got[1].ID)
	must(t, err)
	if !m.Erased || m.Item.Body != "" || m.Item.Data != nil {
		t.Errorf("%+v", m)
	}
}

func TestKeysGoWhenTheyAreOverAndMessagesAfter90Days(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.send(bulk("ada", "news"))
	b.at(morning.Add(3 * time.Minute))
	must(t, b.store.RemoveOld(t.Context()))
	if n := b.rowsIn("message_keys"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	b.at(morning.AddDate(0, 0, 90))
	must(t, b.store.RemoveOld(t.Context()))
	if m, i := b.rowsIn("messages"), b.rowsIn("inbox"); m != 0 || i != 0 {
		t.Errorf("%d messages and %d inbox rows are left", m, i)
	}
}

func TestErasingAFanForgetsTheirMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.send(bulk("ada", "news"), bulk("ben", "news"))[0].ID
	_, err := b.store.EraseFan(t.Context(), "ada")
	must(t, err)
	_, err = b.store.Message(t.Context(), id)
	refused(t, "message of an erased fan", err, waitlist.NotFound)
	for table, want := range map[string]int{"messages": 1, "message_keys": 1, "inbox": 1} {
		if n := b.rowsIn(table); n != want {
			t.Errorf("%s has %d rows, want ben's", table, n)
		}
	}
	if again := b.send(bulk("ada", "news")); again[0].Duplicate {
		t.Error("a new fan of the same id has the erased one's key")
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}
