package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/store"
	"fanline/waitlist"
)

func TestAnAnnouncementStandsAmongTurnsAndResultsByTime(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada", "ben")
		b.announce("s", "first")
		b.pass(time.Second)
		b.free("s", "o", 1)
		b.decide()
		b.pass(time.Second)
		b.announce("s", "second")
		b.pass(time.Second)
		b.buy("s", "o", "ada")
		b.decide()
		b.pass(time.Second)
		b.announce("s", "third") // ada is not in line any more
		b.wantInbox("ada", "result:s:o confirmed*", "ann:s:second *", "turn:s:o claimed*", "ann:s:first *")
		b.wantInbox("ben", "ann:s:third *", "ann:s:second *", "ann:s:first *")
		if got := b.missed("ada", morning.Add(-time.Hour), b.time()); !slices.Equal(got, []string{"ann:s:first", "turn:s:o", "ann:s:second", "result:s:o", "claimed"}) {
			t.Errorf("replayed %q", got)
		}
	})
}

func TestAnnouncementsCountAsUnreadUntilTheyAreRead(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada", "ben")
		for _, id := range []string{"a", "b", "c"} {
			b.announce("s", id)
			b.pass(time.Second)
		}
		unread, err := b.store.MarkRead(t.Context(), "ada", []string{"ann:s:b", "ann:s:unknown", "ann:x:a"})
		if must(t, err); unread != 2 {
			t.Errorf("%d unread, want 2", unread)
		}
		b.wantInbox("ada", "ann:s:c *", "ann:s:b ", "ann:s:a *")
		unread, err = b.store.MarkAllRead(t.Context(), "ada", b.time().Add(-1500*ms))
		if must(t, err); unread != 1 {
			t.Errorf("%d unread, want 1", unread)
		}
		b.wantInbox("ada", "ann:s:c *", "ann:s:b ", "ann:s:a ")
		b.wantInbox("ben", "ann:s:c *", "ann:s:b *", "ann:s:a *")
		items, unread, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{Unread: true, Kind: notifier.KindAnnouncement, Limit: 10})
		if must(t, err); len(items) != 1 || unread != 1 {
			t.Errorf("unread announcements: %d of %d", len(items), unread)
		}
		items, _, err = b.store.Items(t.Context(), "ada", notifier.InboxQuery{Kind: notifier.KindTurn, Limit: 10})
		if must(t, err); len(items) != 0 {
			t.Errorf("%d turns", len(items))
		}
	})
}

func TestPagesOfAnInboxOfAnnouncementsNeverSkipOrRepeat(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada")
		var want, got []string
		for i := range 20 {
			id := fmt.Sprintf("a%02d", i)
			b.announce("s", id)
			want = append(want, "ann:s:"+id)
			if i%4 == 3 {
				b.pass(time.Second) // four stand at one moment
			}
		}
		q := notifier.InboxQuery{Limit: 3}
		for {
			items, _, err := b.store.Items(t.Context(), "ada", q)
			must(t, err)
			if len(items) == 0 {
				break
			}
			for i := range items {
				got = append(got, items[i].ID)
				q.After = &notifier.InboxKey{At: time.Time(items[i].CreatedAt), ID: items[i].ID}
			}
			if len(got) == 3 { // a newer one comes
				b.announce("s", "z")
			}
		}
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("read %v", got)
		}
	})
}

func TestAnnouncementsAreNewsToThoseWhoAreHereAndInLine(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada", "ben", "away", "gone")
		must(t, b.Leave(t.Context(), "s", "gone"))
		v := b.viewer("ada", "ben", "gone", "stranger")
		b.announce("s", "a")
		b.announce("s", "b")
		b.join("s", "late")
		v.want("ada ann:s:a ", "ada ann:s:b ", "ben ann:s:a ", "ben ann:s:b ")
		v.want()
		v.wantBacklog("ada", 10, "ada ann:s:a ", "ada ann:s:b ")
		must(t, b.Leave(t.Context(), "s", "ada")) // and still has them
		v.wantBacklog("ada", 1, "ada ann:s:b ")
		v.wantBacklog("gone", 10)
	})
}

func TestAnAnnouncementThatAsksForOtherChannelsIsNotPushedLive(t *testing.T) {
	t.Parallel()
	b := announcing(t, waitlist.Read)
	b.join("s", "ada")
	v := b.viewer("ada")
	for id, channels := range map[string][]string{"mail": {"email"}, "none": {}, "both": {"email", "live"}, "any": nil} {
		_, _, err := b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: id, Title: "T", Body: "B", Channels: channels})
		must(t, err)
	}
	v.want("ada ann:s:any ", "ada ann:s:both ")
	if got := b.inbox("ada"); len(got) != 4 {
		t.Errorf("inbox %q", got)
	}
}

func TestWhoLeavesOutLiveIsNotPushedAnAnnouncementLive(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada", "ben", "cyd")
		b.prefer("ada", notifier.KindAnnouncement, "email")
		b.prefer("ben", notifier.KindAnnouncement, "live")
		b.prefer("cyd", notifier.KindMessage, "email")
		v := b.viewer("ada", "ben", "cyd")
		b.announce("s", "a")
		v.want("ben ann:s:a ", "cyd ann:s:a ")
		_, _, err := b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: "b", Title: "T", Body: "B", Channels: []string{"live"}})
		must(t, err)
		v.want("ada ann:s:b ", "ben ann:s:b ", "cyd ann:s:b ")
		v.wantBacklog("ada", 10, "ada ann:s:a ", "ada ann:s:b ")
	})
}

func TestAnnouncementsOlderThanItemsAreKeptAreNotShown(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.starts = morning.Add(365 * 24 * time.Hour)
		b.join("s", "ada")
		b.announce("s", "old")
		b.at(morning.Add(90*24*time.Hour - ms))
		b.wantInbox("ada", "ann:s:old *")
		b.at(morning.Add(90 * 24 * time.Hour))
		b.announce("s", "new")
		b.wantInbox("ada", "ann:s:new *")
	})
}

// TestWhatIsWrittenIsWhatWouldBeRead lets fans come and go at once with
// announcements. Then what was written is taken away, and worked out instead.
func TestWhatIsWrittenIsWhatWouldBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Write)})
	const fans, announcements = 12, 25
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range fans {
		fan := fmt.Sprintf("f%02d", i)
		b.join("s", fan)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				if rand.IntN(2) == 0 {
					err = b.Leave(t.Context(), "s", fan)
				} else {
					_, _, err = b.Join(t.Context(), "s", waitlist.Join{FanID: fan, Party: 1})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range announcements {
		b.announce("s", "")
	}
	close(stop)
	wg.Wait()
	var written [][]string
	n := 0
	for i := range fans {
		written = append(written, b.inbox(fmt.Sprintf("f%02d", i)))
		n += len(written[i])
	}
	if n == 0 || n == fans*announcements {
		t.Fatalf("%d of %d items: nobody came or went in between", n, fans*announcements)
	}
	b.exec(`DELETE FROM inbox`)
	b.exec(`UPDATE announcements SET strategy = 'read'`)
	for i := range fans {
		if got := b.inbox(fmt.Sprintf("f%02d", i)); !slices.Equal(got, written[i]) {
			t.Errorf("f%02d: read %d, written %d", i, len(got), len(written[i]))
		}
	}
}

func TestALateAnnouncementIsNeverPassedByACursor(t *testing.T) {
	t.Parallel()
	b := newLine(t)
	for _, s := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		b.change("s", waitlist.ShowChange{Policy: waitlist.Some(waitlist.PolicyChange{Strategy: waitlist.Some(s)})})
		one, other := b.stream(), b.stream()
		f := one.fan("ada", "")
		late := make(chan struct{})
		// The announcement waits within its transaction, after it took its time.
		unlock := b.stranger(`LOCK TABLE announcements IN SHARE MODE`)
		go func() {
			defer close(late)
			b.announce("s", "late-"+string(s))
		}()
		b.waitForLockOn("relation")
		before := len(ids(f))
		b.happen("s", "ada", 1+9*len(s)) // committed meanwhile: its cursor must not pass the other
		after := one.cursor(f, before+1)
		f.Close()
		unlock()
		<-late
		f = other.fan("ada", after)
		if got := ids(f); !slices.Equal(got, []string{"ann:s:late-" + string(s)}) {
			t.Errorf("%s: replayed %q", s, got)
		}
		after = f.Cursor()
		f.Close()
		if got := ids(one.fan("ada", after)); len(got) > 0 {
			t.Errorf("%s: came again: %q", s, got)
		}
	}
}

// TestTheInboxIsReadByIndexWhateverTheLineAndItsAnnouncements asks how the items
// are read in a line of many, with many announcements elsewhere.
func TestTheInboxIsReadByIndexWhateverTheLineAndItsAnnouncements(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Read)})
	b.show("other", waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Read)})
	b.join("s", "ada")
	b.announce("s", "a")
	b.exec(`INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT 1, 10 + i, 1000 + i, 10 + i, '', 1, now(), 0 FROM generate_series(1, 20000) i`)
	b.exec(`INSERT INTO entry_log (show_no, eno, decision, at, what, place, tier, party, state, dormant)
		SELECT 1, 10 + i, 1, now(), 'moved', i, '', 1, 'waiting', false FROM generate_series(1, 20000) i`)
	b.exec(`INSERT INTO announcements (show_no, announcement_id, fingerprint, strategy, decision, at, title, body)
		SELECT 2, 'x' || i, '', 'read', i, now() - i * interval '1 s', 'T', 'B' FROM generate_series(1, 20000) i`)
	b.exec(`INSERT INTO announcements (show_no, announcement_id, fingerprint, strategy, decision, at, title, body)
		SELECT 1, 'x' || i, '', 'read', i, now() - interval '91 days' - i * interval '1 s', 'T', 'B' FROM generate_series(1, 20000) i`)
	b.exec(`INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats)
		SELECT 1000 + i, k, 1000 + i, now() - i * interval '1 s', 1, 10 + i, 1
		FROM generate_series(1, 10000) i CROSS JOIN unnest('{turn,result,announcement,message}'::text[]) k`)
	no, err := b.store.FindFan(t.Context(), "ada")
	must(t, err)
	b.exec(`ANALYZE`)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		if read := b.buffers(mode, "(bigint[], timestamptz)", store.ItemsSQL, fmt.Sprintf(`('{%d}', now())`, no)); read > 60 {
			t.Errorf("%s: reading an inbox of one item touches %d pages", mode, read)
		}
	}
	b.wantInbox("ada", "ann:s:a *")
}
