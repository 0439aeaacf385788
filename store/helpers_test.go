package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

func at(show, opening string) waitlist.OpeningRef {
	return waitlist.OpeningRef{ShowID: show, OpeningID: opening}
}

// must is for calls that a rule does not refuse.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t testing.TB, what string, err error, want waitlist.Code) {
	t.Helper()
	if got := waitlist.CodeOf(err); got != want {
		t.Errorf("%s: %v, want code %q", what, err, want)
	}
}

func (b *bench) joinAs(show, fan string, party int, tier string) {
	b.t.Helper()
	_, _, err := b.Join(b.t.Context(), show, waitlist.Join{FanID: fan, Party: party, Tier: tier})
	must(b.t, err)
}

func (b *bench) report(show string, n waitlist.NewOpening) {
	b.t.Helper()
	if n.Reason == "" {
		n.Reason = "returned"
	}
	_, _, err := b.Record(b.t.Context(), show, n)
	must(b.t, err)
}

func (b *bench) claim(show, opening, fan string) waitlist.Claim {
	b.t.Helper()
	c, _, err := b.Claim(b.t.Context(), at(show, opening), fan)
	must(b.t, err)
	return c
}

func (b *bench) buy(show, opening, fan string) {
	b.t.Helper()
	_, err := b.Confirm(b.t.Context(), b.claim(show, opening, fan).ID)
	must(b.t, err)
}

func (b *bench) wantClaimRefused(show, opening, fan string, want waitlist.Code) {
	b.t.Helper()
	_, _, err := b.Claim(b.t.Context(), at(show, opening), fan)
	refused(b.t, "claim of "+fan, err, want)
}

func (b *bench) wantOpening(show, opening string, state waitlist.OpeningState, free, held, confirmed int) waitlist.Opening {
	b.t.Helper()
	o, err := b.Opening(b.t.Context(), at(show, opening))
	must(b.t, err)
	if o.State != state || o.Free != free || o.Held != held || o.Confirmed != confirmed {
		b.t.Errorf("%s: %s, %d free, %d held, %d confirmed; want %s, %d, %d, %d",
			opening, o.State, o.Free, o.Held, o.Confirmed, state, free, held, confirmed)
	}
	return o
}

// told are the fans of each wave, by opening, in order.
func (b *bench) told(show, opening string) []string {
	b.t.Helper()
	return b.strings(`
		SELECT f.fan_id FROM shows s JOIN openings o USING (show_no) JOIN wave_members m USING (opening_no)
		CROSS JOIN LATERAL unnest(m.fans, m.ks) x (fan, k) JOIN fans f ON f.fan_no = x.fan
		WHERE show_id = $1 AND opening_id = $2 ORDER BY m.n, x.k`, show, opening)
}

func (b *bench) wantTold(show, opening string, want ...string) {
	b.t.Helper()
	if got := b.told(show, opening); !slices.Equal(got, want) {
		b.t.Errorf("told of %s: %v, want %v", opening, got, want)
	}
}

// events are the data of a show's events of a type, in order.
func (b *bench) events(show string, of notifier.EventType) []string {
	b.t.Helper()
	return b.strings(`
		SELECT coalesce(data::text, '') FROM events JOIN shows USING (show_no) WHERE show_id = $1 AND type = $2
		ORDER BY id`, show, string(of))
}

func (b *bench) strings(sql string, args ...any) []string {
	b.t.Helper()
	rows, err := b.store.Pool().Query(b.t.Context(), sql, args...)
	must(b.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(b.t, err)
	return list
}

// inbox is a fan's items as "id state", newest first, unread ones with a star.
func (b *bench) inbox(fan string) []string {
	b.t.Helper()
	return b.inboxPage(fan, 500)
}

func (b *bench) inboxPage(fan string, limit int) []string {
	b.t.Helper()
	items, _, err := b.store.Items(b.t.Context(), fan, notifier.InboxQuery{Limit: limit})
	must(b.t, err)
	var list []string
	for i := range items {
		s := items[i].ID + " " + string(items[i].State)
		if items[i].ReadAt == nil {
			s += "*"
		}
		list = append(list, s)
	}
	return list
}

func (b *bench) wantInbox(fan string, want ...string) {
	b.t.Helper()
	if got := b.inbox(fan); !slices.Equal(got, want) {
		b.t.Errorf("inbox of %s: %v, want %v", fan, got, want)
	}
}

func (b *bench) change(show string, c waitlist.ShowChange) {
	b.t.Helper()
	_, _, err := b.PutShow(b.t.Context(), show, c)
	must(b.t, err)
}

func (b *bench) entry(show, fan string) waitlist.Entry {
	b.t.Helper()
	e, err := b.Entry(b.t.Context(), show, fan)
	must(b.t, err)
	return e
}

// place is the fan's order in line, by fan.
func (b *bench) line(show string) []string {
	b.t.Helper()
	entries, err := b.Entries(b.t.Context(), show, waitlist.EntryFilter{Limit: 500})
	must(b.t, err)
	var fans []string
	for i := range entries {
		if entries[i].State.InLine() {
			fans = append(fans, entries[i].FanID)
		}
	}
	return fans
}

func ptr[T any](v T) *T { return &v }

const ms = time.Millisecond
