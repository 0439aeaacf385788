package store_test

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/store"
	"fanline/store/storetest"
	"fanline/waitlist"
)

func TestWhatWasMissedComesOnceInOrderBeforeWhatIsNew(t *testing.T) {
	t.Parallel()
	b := newLine(t)
	one, other := b.stream(), b.stream()
	f := one.fan("ada", "")
	b.happen("s", "ada", 1, 2, 3, 4)
	after := one.cursor(f, 4)
	f.Close()
	b.happen("s", "ada", 5, 6)
	seven := b.begin()
	b.results(seven, "s", "ada", 7, 7)
	f = other.fan("ada", after)
	b.commit(seven)
	other.cursor(f, 3)
	wantIDs(t, f, someResults(5, 7)...)
}

func TestFlappingReplaysNothingThatWasSent(t *testing.T) {
	t.Parallel()
	b := newLine(t)
	streams := []*stream{b.stream(), b.stream()}
	f := streams[0].fan("ada", "")
	b.happen("s", "ada", 1, 2, 3)
	after := streams[0].cursor(f, 3)
	f.Close()
	for i := range 10 {
		f = streams[i%2].fan("ada", after)
		if got := append(ids(f), updates(f)...); len(got) > 0 || resets(f) {
			t.Fatalf("the %d. time: %v, reset %t", i+1, got, resets(f))
		}
		after = f.Cursor()
		f.Close()
	}
	b.happen("s", "ada", 4)
	f = streams[0].fan("ada", after)
	wantIDs(t, f, result(4))
	f.Close()
	wantIDs(t, streams[1].fan("ada", f.Cursor()))
}

func TestManyItemsOfOneTransactionReplayOnceInOrder(t *testing.T) {
	t.Parallel()
	b := newLine(t)
	s := b.stream()
	f := s.fan("ada", "")
	before := f.Cursor()
	tx := b.begin()
	b.results(tx, "s", "ada", 1, 250)
	b.commit(tx)
	after := s.cursor(f, 250)
	if len(after) > 4000 {
		t.Errorf("the cursor of 250 items has %d characters", len(after))
	}
	wantIDs(t, s.fan("ada", after))
	wantIDs(t, s.fan("ada", before), someResults(1, 250)...)
}

func TestMoreThanAReplayHoldsIsAReset(t *testing.T) {
	t.Parallel()
	b := newLine(t)
	s := b.stream()
	f := s.fan("ada", "")
	before := f.Cursor()
	f.Close()
	tx := b.begin()
	b.results(tx, "s", "ada", 1, 1001)
	b.commit(tx)
	s.looked()
	f = s.fan("ada", before)
	if !resets(f) {
		t.Error("no reset")
	}
	wantIDs(t, f, someResults(802, 1001)...)
	b.exec(`DELETE FROM inbox WHERE ref = (SELECT opening_no FROM openings WHERE opening_id = 'r1001')`)
	f = s.fan("ada", before)
	if resets(f) {
		t.Error("a reset for what fits")
	}
	wantIDs(t, f, someResults(1, 1000)...)
}

func TestACommitHeldOpenIsNotPassedByCursors(t *testing.T) {
	t.Parallel()
	address := storetest.Database(t, store.Migrate)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "shifted,public,pg_catalog")
	u.RawQuery = q.Encode()
	b := benchOn(t, u.String())
	b.shift()
	b.show("s", waitlist.PolicyChange{})
	b.join("s", "ada")
	s := b.stream()
	gone, stays := s.fan("ada", ""), s.fan("ada", "")
	late := b.begin()
	b.results(late, "s", "ada", 1, 1)
	var after string
	for n := 2; n <= 9; n++ { // a second each
		b.exec(`UPDATE shifted.clock SET ahead = ahead + interval '1 second'`)
		b.happen("s", "ada", n)
		after = s.cursor(gone, n-1)
	}
	gone.Close()
	b.commit(late)
	s.cursor(stays, 9)
	wantIDs(t, stays, append(someResults(2, 9), result(1))...)
	back := s.fan("ada", after)
	wantIDs(t, back, result(1))
	wantIDs(t, s.fan("ada", back.Cursor()))
}

func TestOnlyOurOwnTransactionsHoldTheMomentBack(t *testing.T) {
	t.Parallel()
	address := storetest.Database(t, store.Migrate)
	b := benchOn(t, address)
	dump, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer dump.Close(context.Background())
	var theirs, ours time.Time
	if _, err := dump.Exec(t.Context(), `BEGIN`); err != nil {
		t.Fatal(err)
	}
	if err := dump.QueryRow(t.Context(), `SELECT now()`).Scan(&theirs); err != nil {
		t.Fatal(err)
	}
	first, err := b.store.Moment(t.Context())
	if err != nil || first.Timeline != 1 || first.Database == 0 || !first.At.After(theirs) {
		t.Errorf("moment %+v, %v; another program's transaction began at %v", first, err, theirs)
	}
	if err := b.begin().QueryRow(t.Context(), `SELECT now()`).Scan(&ours); err != nil {
		t.Fatal(err)
	}
	second, err := b.store.Moment(t.Context())
	if err != nil || second.Database != first.Database || second.At.After(ours) {
		t.Errorf("moment %+v, %v; our own transaction began at %v", second, err, ours)
	}
}

func TestTransactionsThatMayNotBeSeenHoldTheMomentBackAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tx := b.begin()
	if _, err := tx.Exec(t.Context(), `SET LOCAL track_activities = off`); err != nil {
		t.Fatal(err)
	}
	m, err := b.store.Moment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ago := (askingClock{b}).Now().Sub(m.At); ago < time.Minute {
		t.Errorf("the moment is %v ago", ago)
	}
}

func TestACursorOfAnotherDatabaseIsAReset(t *testing.T) {
	t.Parallel()
	b, other := newLine(t), newLine(t)
	b.happen("s", "ada", 1)
	f := b.stream().fan("ada", other.stream().fan("ada", "").Cursor())
	if !resets(f) {
		t.Error("no reset")
	}
	wantIDs(t, f, result(1))
}

// Each turn and result is replayed the same, whether it is a row or worked out.
func TestBothStrategiesReplayTheSame(t *testing.T) {
	t.Parallel()
	for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.show("s", waitlist.PolicyChange{
				Strategy: waitlist.Some(strategy), Mode: waitlist.Some(waitlist.ModeEveryone),
			})
			b.join("s", "ada", "ben")
			s := b.stream()
			away := s.fan("ben", "")
			away.Close()
			after := away.Cursor()
			b.free("s", "o1", 1)
			b.decide()
			b.opened("s", "o1", "ben")
			f := s.fan("ben", after)
			wantIDs(t, f, "turn:s:o1")
			f.Close()
			wantIDs(t, s.fan("ben", f.Cursor()))

			ref := waitlist.OpeningRef{ShowID: "s", OpeningID: "o1"}
			c, _, err := b.Claim(t.Context(), ref, "ada")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Confirm(t.Context(), c.ID); err != nil {
				t.Fatal(err)
			}
			b.decide()
			back := s.fan("ben", f.Cursor())
			wantIDs(t, back, "result:s:o1")
			if got := updates(back); !slices.Equal(got, []string{"turn:s:o1 over"}) {
				t.Errorf("updates %v", got)
			}
			again := s.fan("ben", back.Cursor())
			if got := append(ids(again), updates(again)...); len(got) > 0 {
				t.Errorf("again: %v", got)
			}
			all := s.fan("ben", after)
			wantIDs(t, all, "turn:s:o1", "result:s:o1")
			if got := updates(all); len(got) > 0 {
				t.Errorf("updates to what came as it is: %v", got)
			}
			winner := s.fan("ada", "")
			wantIDs(t, winner, "turn:s:o1", "result:s:o1")
		})
	}
}

// missed are a fan's turns as a replay between two moments has them: what changed,
// as "state", and what may still, as "watch state" or "to come".
func (b *bench) missed(fan string, since, until time.Time) (got []string) {
	b.t.Helper()
	feed := b.store.Feed()
	no, err := feed.FanNo(b.t.Context(), fan)
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := feed.Replay(b.t.Context(), no, live.Span{Since: since, Until: until, Limit: 10})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, n := range m.Items {
		got = append(got, n.Item.ID)
	}
	for _, n := range m.Turns {
		switch {
		case n.Update != nil:
			got = append(got, string(n.Update.State))
		case n.Silent:
			got = append(got, "watch "+string(n.Item.State))
		default:
			got = append(got, "to come")
		}
	}
	return got
}

func TestEachWayATurnEndsIsReplayed(t *testing.T) {
	t.Parallel()
	ref := waitlist.OpeningRef{ShowID: "s", OpeningID: "o1"}
	var claim waitlist.Claim
	hold := func(b *bench) (err error) { claim, _, err = b.Claim(b.t.Context(), ref, "ada"); return err }
	for name, c := range map[string]struct {
		before func(b *bench) error // a minute before since
		during func(b *bench) error // between since and until
		want   []string
	}{
		"nothing":   {want: []string{"watch open"}},
		"by time":   {during: func(b *bench) error { b.pass(600 * time.Second); return nil }, want: []string{"over"}},
		"unwritten": {during: func(b *bench) error { b.at(b.time().Add(600 * time.Second)); return nil }, want: []string{"over"}},
		"declined":  {during: func(b *bench) error { return b.Decline(b.t.Context(), ref, "ada") }, want: []string{"over"}},
		"left":      {during: func(b *bench) error { return b.Leave(b.t.Context(), "s", "ada") }, want: []string{"over"}},
		"cancelled": {during: func(b *bench) error { return b.CancelOpening(b.t.Context(), ref) }, want: []string{"result:s:o1", "over"}},
		"claimed":   {during: hold, want: []string{"claimed", "watch claimed"}},
		"held":      {before: hold, want: []string{"watch claimed"}},
		"confirmed": {before: hold, during: func(b *bench) error {
			_, err := b.Confirm(b.t.Context(), claim.ID)
			return err
		}, want: []string{"result:s:o1"}},
		"released": {before: hold, during: func(b *bench) error {
			_, err := b.Release(b.t.Context(), claim.ID, "")
			return err
		}, want: []string{"over"}},
		"lapsed": {before: hold, during: func(b *bench) error { b.pass(600 * time.Second); return nil }, want: []string{"result:s:o1", "over"}},
		"lapsed, but nobody noticed": {before: hold, during: func(b *bench) error {
			b.at(b.time().Add(600 * time.Second))
			return nil
		}, want: []string{"over"}},
		"all of it before": {before: func(b *bench) error { return b.Decline(b.t.Context(), ref, "ada") }},
	} {
		for _, strategy := range []waitlist.Strategy{waitlist.Write, waitlist.Read} {
			// One after the other: they share the claim.
			t.Run(name+"/"+string(strategy), func(t *testing.T) {
				b := newStopped(t)
				b.show("s", waitlist.PolicyChange{Strategy: waitlist.Some(strategy)})
				b.join("s", "ada")
				b.free("s", "o1", 1)
				b.decide()
				step := func(f func(b *bench) error) {
					b.at(b.time().Add(time.Minute))
					if f == nil {
						return
					}
					if err := f(b); err != nil {
						t.Fatal(err)
					}
				}
				step(c.before)
				b.at(b.time().Add(time.Minute))
				since := b.time()
				step(c.during)
				if got := b.missed("ada", since, b.time()); !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

func TestATurnToComeIsNotReplayedButAnnouncedToTheHub(t *testing.T) {
	t.Parallel()
	b := newStopped(t)
	b.show("s", waitlist.PolicyChange{ReleasePerS: waitlist.Some(waitlist.Milli(1000)), Mode: waitlist.Some(waitlist.ModeEveryone)})
	b.join("s", "ada", "ben")
	b.free("s", "o1", 1)
	b.decide()
	for _, c := range []struct {
		fan  string
		want []string
	}{{"ada", []string{"turn:s:o1", "watch open"}}, {"ben", []string{"to come"}}} {
		if got := b.missed(c.fan, morning.Add(-time.Hour), b.time()); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.fan, got, c.want)
		}
	}
}

func TestAReplayIsReadInPagesOfTimeAndID(t *testing.T) {
	t.Parallel()
	b := newLine(t)
	for from := 1; from < 20; from += 4 {
		tx := b.begin()
		b.results(tx, "s", "ada", from, from+3) // of one moment
		b.commit(tx)
	}
	feed := b.store.Feed()
	no, err := feed.FanNo(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	span := live.Span{Until: askingClock{b}.Now(), Limit: 3}
	var got []string
	for left := 20; left > 0; left -= 3 {
		m, err := feed.Replay(t.Context(), no, span)
		if err != nil || m.Total != left || len(m.Items) != min(3, left) {
			t.Fatalf("page %d of %d, want of %d; %v", len(m.Items), m.Total, left, err)
		}
		for _, n := range m.Items {
			got = append(got, n.Item.ID)
			span.Page = &notifier.InboxKey{At: n.At, ID: n.Item.ID}
		}
	}
	if !slices.Equal(got, someResults(1, 20)) {
		t.Errorf("got %v", got)
	}
}
