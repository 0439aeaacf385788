package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/store"
	"fanline/waitlist"
)

// announce makes an announcement whose texts follow from its id.
func (b *bench) announce(show, id string) waitlist.Announcement {
	b.t.Helper()
	a, created, err := b.store.Announce(b.t.Context(), show, waitlist.NewAnnouncement{ID: id, Title: "About " + id, Body: "All of it."})
	must(b.t, err)
	if !created {
		b.t.Fatalf("announcement %s stood already", id)
	}
	return a
}

// announcing is a stopped bench with a show whose announcements have a strategy.
func announcing(t testing.TB, s waitlist.Strategy) *bench {
	t.Helper()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(s), ReleasePerS: waitlist.Some(waitlist.Milli(1_000_000))})
	return b
}

func TestAnAnnouncementBelongsToThoseInLineAtItsMoment(t *testing.T) {
	t.Parallel()
	join := func(b *bench) { b.join("s", "ada") }
	leave := func(b *bench) { must(b.t, b.Leave(b.t.Context(), "s", "ada")) }
	remove := func(b *bench) { must(b.t, b.Remove(b.t.Context(), "s", "ada", "asked for it")) }
	move := func(b *bench) { must(b.t, b.move("s", "ada", waitlist.MoveFront)) }
	sleep := func(b *bench) { b.exec(`UPDATE entries SET dormant = true`) }
	wake := func(b *bench) { must(b.t, b.Wake(b.t.Context(), "ada")) }
	hold := func(b *bench) { b.free("s", "o", 1); b.decide(); b.claim("s", "o", "ada") }
	buy := func(b *bench) { b.free("s", "o", 1); b.decide(); b.buy("s", "o", "ada"); b.decide() }
	does := func(acts ...func(*bench)) []func(*bench) { return acts }
	for name, c := range map[string]struct {
		before, after []func(*bench)
		has           bool
	}{
		"never joined":                     {nil, nil, false},
		"joined before":                    {does(join), nil, true},
		"joined after":                     {nil, does(join), false},
		"left before":                      {does(join, leave), nil, false},
		"left after":                       {does(join), does(leave), true},
		"removed before":                   {does(join, remove), nil, false},
		"removed after":                    {does(join), does(remove), true},
		"moved before and after":           {does(join, move), does(move), true},
		"dormant":                          {does(join, sleep), nil, true},
		"dormant, awake later":             {does(join, sleep), does(wake), true},
		"dormant, left later":              {does(join, sleep), does(leave), true},
		"holding":                          {does(join, hold), nil, true},
		"holding, left later":              {does(join, hold), does(leave), true},
		"bought before":                    {does(join, buy), nil, false},
		"bought after":                     {does(join), does(buy), true},
		"rejoined before":                  {does(join, leave, join), nil, true},
		"rejoined before, left later":      {does(join, leave, join), does(leave), true},
		"left before, rejoined after":      {does(join, leave), does(join), false},
		"left after, rejoined after":       {does(join), does(leave, join), true},
		"left before, in and out after it": {does(join, leave), does(join, leave, join), false},
		"removed before, rejoined after":   {does(join, remove), does(join), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategies(t, func(t *testing.T, s waitlist.Strategy) {
				b := announcing(t, s)
				for _, act := range c.before {
					act(b)
				}
				b.join("s", "other")
				b.announce("s", "a")
				for _, act := range c.after {
					act(b)
				}
				b.decide()
				items, _, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{Kind: notifier.KindAnnouncement, Limit: 10})
				must(t, err)
				if has := len(items) == 1; has != c.has || len(items) > 1 {
					t.Errorf("has %d announcements, want %t", len(items), c.has)
				}
				if got := b.inbox("other"); !slices.Contains(got, "ann:s:a *") {
					t.Errorf("who stayed in line has %q", got)
				}
			})
		})
	}
}

func TestAnAnnouncementIsAnItemWithItsOwnWords(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada")
		b.pass(1234567 * time.Microsecond)
		v := b.viewer("ada")
		_, _, err := b.store.Announce(t.Context(), "s", waitlist.NewAnnouncement{
			ID: "doors", Title: "Doors for {show}", Body: "At {minutes}.\nSee you.", Data: []byte(`{"gate": "B", "n":1.0}`),
		})
		must(t, err)
		items, _, err := b.store.Items(t.Context(), "ada", notifier.InboxQuery{Limit: 10})
		must(t, err)
		want := `{"id":"ann:s:doors","kind":"announcement","lane":"bulk","show_id":"s","title":"Doors for {show}","body":"At {minutes}.\nSee you.",` +
			`"data":{"gate":"B","n":1.0},"created_at":"2031-05-06T09:00:01.234Z","read_at":null}`
		for name, it := range map[string]*notifier.Item{"picked up": &items[0], "live": v.news()[0].Item} {
			if got, err := json.Marshal(it); err != nil || string(got) != want {
				t.Errorf("%s:\n%s, want\n%s; %v", name, got, want, err)
			}
		}
	})
}

func TestUnderReadAnAnnouncementIsOneRowAndUnderWriteOneForEachInLine(t *testing.T) {
	t.Parallel()
	for s, want := range map[waitlist.Strategy]string{waitlist.Write: "41", waitlist.Read: "0"} {
		b := announcing(t, s)
		for i := range 43 {
			b.join("s", fmt.Sprintf("f%02d", i))
		}
		b.exec(`UPDATE entries SET dormant = true WHERE eno < 4`)
		must(t, b.Leave(t.Context(), "s", "f10"))
		must(t, b.Leave(t.Context(), "s", "f11"))
		if a := b.announce("s", "a"); a.Strategy != s {
			t.Errorf("strategy %s, want %s", a.Strategy, s)
		}
		if got := b.strings(`SELECT count(*)::text FROM inbox`); got[0] != want {
			t.Errorf("%s: %s inbox rows, want %s", s, got[0], want)
		}
		if got := b.strings(`SELECT count(*)::text FROM announcements UNION ALL SELECT count(*)::text FROM events WHERE type = 'announcement.sent'`); !slices.Equal(got, []string{"1", "1"}) {
			t.Errorf("%s: rows %v", s, got)
		}
	}
}

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

func TestAnAnnouncementIsMadeOnceAndCannotChange(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada")
		n := waitlist.NewAnnouncement{ID: "a", Title: "T", Body: "B", Data: []byte(`{"x":1,"y":2}`)}
		first, created, err := b.store.Announce(t.Context(), "s", n)
		if must(t, err); !created {
			t.Error("not created")
		}
		n.Data = []byte(`{"y":2, "x":1}`)
		b.pass(time.Second)
		b.change("s", waitlist.ShowChange{Policy: waitlist.Some(waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Auto)})})
		again, created, err := b.store.Announce(t.Context(), "s", n)
		again.At = again.At.UTC()
		if must(t, err); created || again != first {
			t.Errorf("again: %+v, created %t; want %+v", again, created, first)
		}
		n.Title = "U"
		_, _, err = b.store.Announce(t.Context(), "s", n)
		refused(t, "another body", err, waitlist.Conflict)
		b.wantInbox("ada", "ann:s:a *")
		must(t, b.CancelShow(t.Context(), "s"))
		b.wantInbox("ada", "ann:s:a *") // stays readable
		n.ID = "b"
		_, created, err = b.store.Announce(t.Context(), "s", n)
		if refused(t, "a cancelled show", err, waitlist.Closed); created {
			t.Error("created all the same")
		}
		_, _, err = b.store.Announce(t.Context(), "nowhere", n)
		refused(t, "an unknown show", err, waitlist.NotFound)
	})
}

func TestAnAnnouncementPutManyTimesAtOnceIsOneBlast(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada", "ben")
		other := benchOn(t, b.url)
		var made atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			of := []*bench{b, other}[i%2].store
			all.Go(func() {
				a, created, err := of.Announce(context.Background(), "s", waitlist.NewAnnouncement{ID: "a", Title: "T", Body: "B"})
				if err != nil {
					t.Error(err)
				}
				if created {
					made.Add(1)
				}
				if err := of.StartBlasts(context.Background(), a.No, []notifier.Channel{notifier.APNs}); err != nil { // as its event's job does, which may run twice
					t.Error(err)
				}
			})
		}
		all.Wait()
		chunks := b.strings(`SELECT args::text FROM river_job WHERE kind = 'blast'`)
		events := b.strings(`SELECT args::text FROM river_job WHERE kind = 'event' AND args->>'subscriber' = $1`, notifier.Blasts)
		if made.Load() != 1 || len(chunks) != 1 || len(events) != 1 {
			t.Errorf("made %d times, with the events %v and the chunks %v", made.Load(), events, chunks)
		}
		for _, fan := range []string{"ada", "ben"} {
			if items := b.inbox(fan); len(items) != 1 {
				t.Errorf("%s has %d items", fan, len(items))
			}
		}
	})
}

func TestIDsThatAreMadeSortByTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	var ids []string
	for range 20 {
		a := b.announce("s", "")
		must(t, waitlist.CheckID("id", a.ID))
		ids = append(ids, a.ID)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 20 {
		t.Errorf("made %v", ids)
	}
}

func TestTheStrategyOfAnAnnouncementFollowsTheLineAndThePolicy(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.store.SetThreshold(2)
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada", "ben")
	short := b.announce("s", "short")
	b.join("s", "cyd")
	long := b.announce("s", "long")
	if short.Strategy != waitlist.Write || long.Strategy != waitlist.Read {
		t.Errorf("2 fans: %s, 3 fans: %s", short.Strategy, long.Strategy)
	}
	b.wantInbox("ada", "ann:s:short *", "ann:s:long *")
	// However long the line is, its lock is not held for a row each.
	b.change("s", waitlist.ShowChange{Policy: waitlist.Some(waitlist.PolicyChange{Strategy: waitlist.Some(waitlist.Write)})})
	b.exec(`INSERT INTO line_deltas SELECT show_no, 7, 100000, 0 FROM shows`)
	if a := b.announce("s", "huge"); a.Strategy != waitlist.Read {
		t.Errorf("100,003 fans: %s", a.Strategy)
	}
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

func TestErasingAFanRemovesTheirAnnouncements(t *testing.T) {
	t.Parallel()
	strategies(t, func(t *testing.T, s waitlist.Strategy) {
		b := announcing(t, s)
		b.join("s", "ada", "ben")
		b.announce("s", "a")
		_, err := b.store.MarkRead(t.Context(), "ada", []string{"ann:s:a"})
		must(t, err)
		no, err := b.store.FindFan(t.Context(), "ada")
		must(t, err)
		_, err = b.store.EraseFan(t.Context(), "ada")
		must(t, err)
		if got := b.strings(`SELECT kind FROM inbox WHERE fan_no = $1 UNION ALL SELECT kind FROM inbox_reads WHERE fan_no = $1`, no); len(got) != 0 {
			t.Errorf("rows are left: %v", got)
		}
		b.join("s", "ada") // another person, to Fanline
		b.wantInbox("ada")
		b.wantInbox("ben", "ann:s:a *")
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

// stranger runs a statement in a transaction that is not Fanline's, and returns what
// ends that.
func (b *bench) stranger(sql string) (end func()) {
	b.t.Helper()
	cfg := b.store.Pool().Config().ConnConfig.Copy()
	cfg.RuntimeParams["application_name"] = "stranger"
	conn, err := pgx.ConnectConfig(b.t.Context(), cfg)
	must(b.t, err)
	_, err = conn.Exec(b.t.Context(), `BEGIN`)
	must(b.t, err)
	_, err = conn.Exec(b.t.Context(), sql)
	must(b.t, err)
	return func() { must(b.t, conn.Close(context.Background())) }
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

func TestAnAnnouncementIsWrittenWithoutReadingThoseWhoLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("s", waitlist.PolicyChange{})
	b.exec(`INSERT INTO entries (show_no, eno, fan_no, place, tier, party, state, dormant, joined_at, joined_decision)
		SELECT 1, i, i, i, '', 1, CASE WHEN i % 2000 = 0 THEN 'waiting' WHEN i % 2000 = 1 THEN 'holding' ELSE 'left' END,
			i % 4000 = 0, now(), 0 FROM generate_series(1, 20000) i`)
	b.exec(`VACUUM ANALYZE entries`)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		if read := b.buffers(mode, "(int, bigint, timestamptz)", store.WriteSQL, "(1, "+fmt.Sprint(len(mode))+", now())"); read > 150 {
			t.Errorf("%s: writing to 20 of 20,000 touches %d pages", mode, read)
		}
	}
	if got := b.strings(`SELECT count(*)::text FROM inbox`); got[0] != "40" {
		t.Errorf("wrote %s rows twice over, want 40", got[0])
	}
}

// buffers is how many pages it takes to run a statement by a plan of one kind.
func (b *bench) buffers(mode, types, sql, args string) (pages int) {
	b.t.Helper()
	conn, err := b.store.Pool().Acquire(b.t.Context())
	must(b.t, err)
	defer conn.Release()
	for _, sql := range []string{
		`SET plan_cache_mode = ` + mode,
		`PREPARE asked_` + mode + ` ` + types + ` AS ` + sql,
	} {
		_, err := conn.Exec(b.t.Context(), sql)
		must(b.t, err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	must(b.t, conn.QueryRow(b.t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked_`+mode+` `+args).Scan(&plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
