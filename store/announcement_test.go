package store_test

import (
	"context"
	"encoding/json"
	"fmt"
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
