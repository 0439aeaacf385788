package web

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

var (
	noon  = time.Date(2026, 9, 1, 12, 0, 0, 7_000_000, time.UTC)
	later = noon.Add(10 * time.Minute)
)

// fakeStore stands where Postgres would. It notes what it is asked, and answers
// what it was told to, so that the edge can be tested with the real rules.
type fakeStore struct {
	waitlist.DecisionStore // never called from here

	mu    sync.Mutex
	calls []string
	kept  map[string][]any // the latest arguments by call

	err     error // of every call
	panics  bool
	blocks  bool // until the context ends
	created bool

	shows    []waitlist.Show
	entries  []waitlist.Entry
	fanLines []waitlist.FanEntry
	openings []waitlist.Opening
	waves    []waitlist.WaveReport
	facts    waitlist.Facts
	claim    waitlist.Claim
	joinErrs map[string]error // by fan
	profile  delivery.Profile
	device   delivery.Device
	filter   waitlist.EntryFilter
	events   []notifier.StreamEvent
	grew     chan struct{}
	batches  []int
}

func newFakeStore() *fakeStore {
	show := waitlist.Show{
		No: 1, ID: "s1", Name: "Tuesday", Venue: "The Locksmith", StartsAt: noon, TimeZone: "UTC",
		Policy: waitlist.DefaultPolicy(), Waiting: 3, Strategy: waitlist.Write,
	}
	opening := waitlist.Opening{
		No: 7, ShowNo: 1, ShowID: "s1", ID: "o1", Reason: "returned", Mode: waitlist.ModeTurns, Strategy: waitlist.Write,
		State: waitlist.OpeningOpen, Quantity: 3, Free: 1, Held: 1, Confirmed: 1, Waves: 1, RecordedAt: noon, Told: 2,
	}
	entry := waitlist.Entry{ShowNo: 1, FanNo: 5, FanID: "ada", No: 11, Place: 4, Party: 2, State: waitlist.Waiting, JoinedAt: noon, Position: 3}
	return &fakeStore{
		created: true, shows: []waitlist.Show{show}, openings: []waitlist.Opening{opening}, entries: []waitlist.Entry{entry},
		fanLines: []waitlist.FanEntry{{ShowID: "s1", Entry: entry}},
		waves: []waitlist.WaveReport{{
			Wave: waitlist.Wave{OpeningNo: 7, N: 1, Size: 2, OpensAt: noon}, FromPlace: 1, ToPlace: 4, ClosesAt: later,
			Skipped: map[waitlist.Reason]int{waitlist.IsDormant: 2},
		}},
		facts:   waitlist.Facts{Now: noon.Add(-time.Hour), Show: &show, Opening: &opening, Entry: &entry},
		profile: delivery.DefaultProfile(),
		device:  delivery.Device{ID: "phone", Platform: notifier.APNs, Token: "9f86d081884c7d65", Environment: delivery.Production, RegisteredAt: noon, Used: true},
		claim: waitlist.Claim{
			ID: "c1", ShowNo: 1, ShowID: "s1", OpeningID: "o1", FanID: "ada", Seats: 2, Labels: []string{"A-1", "A-2"},
			State: waitlist.ClaimHeld, ClaimedAt: noon, ExpiresAt: later,
		},
	}
}

func (f *fakeStore) on(ctx context.Context, call string, args ...any) error {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	if f.kept == nil {
		f.kept = map[string][]any{}
	}
	f.kept[call] = args
	f.mu.Unlock()
	if f.panics {
		panic("secret inner text")
	}
	if f.blocks {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fakeStore) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fakeStore) Nudge(int32) {}

func (f *fakeStore) PutShow(ctx context.Context, id string, c waitlist.ShowChange, check func(*waitlist.Show) error) (waitlist.Show, bool, error) {
	// What the rules refuse never gets as far as being stored.
	s := waitlist.Show{ID: id, TimeZone: "UTC", Policy: waitlist.DefaultPolicy()}
	if !f.created {
		s = f.shows[0]
	}
	s = c.Apply(s)
	if err := check(&s); err != nil {
		return waitlist.Show{}, false, err
	}
	return s, f.created, f.on(ctx, "PutShow", id, c)
}

func (f *fakeStore) Show(ctx context.Context, id string) (waitlist.Show, error) {
	return f.shows[0], f.on(ctx, "Show", id)
}

func (f *fakeStore) Shows(ctx context.Context, after string, limit int) ([]waitlist.Show, error) {
	var out []waitlist.Show
	for _, s := range f.shows {
		if s.ID > after && len(out) < limit {
			out = append(out, s)
		}
	}
	return out, f.on(ctx, "Shows", after, limit)
}

func (f *fakeStore) PauseShow(ctx context.Context, id string, staff, paused bool) (int32, error) {
	return 1, f.on(ctx, "PauseShow")
}

func (f *fakeStore) CancelShow(ctx context.Context, id string) (int32, error) {
	return 1, f.on(ctx, "CancelShow", id)
}

func (f *fakeStore) NameFans(ctx context.Context, batch []waitlist.Join) error {
	return f.on(ctx, "NameFans", "", len(batch))
}

func (f *fakeStore) Join(ctx context.Context, show string, batch []waitlist.Join) ([]waitlist.Joined, int32, error) {
	err := f.on(ctx, "Join", show, batch)
	if err != nil {
		return nil, 0, err
	}
	f.mu.Lock()
	f.batches = append(f.batches, len(batch))
	f.mu.Unlock()
	out := make([]waitlist.Joined, len(batch))
	for i, j := range batch {
		e := f.entries[0]
		e.FanID, e.Party, e.Tier, e.Position = j.FanID, j.Party, j.Tier, 0
		out[i] = waitlist.Joined{Entry: e, New: f.created, Err: f.joinErrs[j.FanID]}
	}
	return out, 1, nil
}

func (f *fakeStore) Entry(ctx context.Context, show, fan string) (waitlist.Entry, error) {
	e := f.entries[0]
	e.FanID = fan
	return e, f.on(ctx, "Entry", show, fan)
}

func (f *fakeStore) Entries(ctx context.Context, show string, q waitlist.EntryFilter) ([]waitlist.Entry, error) {
	f.filter = q
	var out []waitlist.Entry
	for _, e := range f.entries {
		if (q.AfterPlace == nil || e.Place > *q.AfterPlace) && len(out) < q.Limit {
			out = append(out, e)
		}
	}
	return out, f.on(ctx, "Entries", show, q)
}

func (f *fakeStore) FanEntries(ctx context.Context, fan string) ([]waitlist.FanEntry, error) {
	return append([]waitlist.FanEntry(nil), f.fanLines...), f.on(ctx, "FanEntries", fan)
}

func (f *fakeStore) ChangeEntry(ctx context.Context, show, fan string, c waitlist.EntryChange) (waitlist.Entry, int32, error) {
	return f.entries[0], 1, f.on(ctx, "ChangeEntry", show, fan, c)
}

func (f *fakeStore) Leave(ctx context.Context, show, fan string, as waitlist.State, reason string) (waitlist.Touched, error) {
	return waitlist.Touched{ShowNo: 1}, f.on(ctx, "Leave", show, fan, as, reason)
}

func (f *fakeStore) FindFan(ctx context.Context, fan string) (int64, error) {
	return 5, f.on(ctx, "FindFan", fan)
}

func (f *fakeStore) EraseFan(ctx context.Context, fan string) ([]int32, error) {
	return []int32{1}, f.on(ctx, "EraseFan", fan)
}

func (f *fakeStore) Wake(ctx context.Context, fan string) ([]int32, error) {
	return nil, f.on(ctx, "Wake", fan)
}

func (f *fakeStore) Record(ctx context.Context, show string, o waitlist.NewOpening) (waitlist.Opening, bool, error) {
	opening := f.openings[0]
	opening.ID = o.ID
	return opening, f.created, f.on(ctx, "Record", show, o)
}

func (f *fakeStore) Opening(ctx context.Context, ref waitlist.OpeningRef) (waitlist.Opening, error) {
	return f.openings[0], f.on(ctx, "Opening", ref)
}

func (f *fakeStore) Openings(ctx context.Context, show string, before int64, limit int) ([]waitlist.Opening, error) {
	var out []waitlist.Opening
	for _, o := range f.openings {
		if (before == 0 || o.No < before) && len(out) < limit {
			out = append(out, o)
		}
	}
	return out, f.on(ctx, "Openings", show, before, limit)
}

func (f *fakeStore) WaveReports(ctx context.Context, ref waitlist.OpeningRef, before, limit int) ([]waitlist.WaveReport, error) {
	return f.waves, f.on(ctx, "WaveReports", ref, before, limit)
}

func (f *fakeStore) NewestWaves(ctx context.Context, openings []waitlist.Opening, limit int) ([]waitlist.WaveReport, error) {
	return f.waves, f.on(ctx, "NewestWaves", openings, limit)
}

func (f *fakeStore) CancelOpening(ctx context.Context, ref waitlist.OpeningRef) (int32, error) {
	return 1, f.on(ctx, "CancelOpening", ref)
}

func (f *fakeStore) GiveTurn(ctx context.Context, ref waitlist.OpeningRef, fan, reason string) (int32, error) {
	return 1, f.on(ctx, "GiveTurn", ref, fan, reason)
}

func (f *fakeStore) Facts(ctx context.Context, ref waitlist.OpeningRef, fan string) (waitlist.Facts, error) {
	return f.facts, f.on(ctx, "Facts", ref, fan)
}

func (f *fakeStore) Trace(ctx context.Context, show, fan string, before int64, limit int) (waitlist.TraceFacts, error) {
	return waitlist.TraceFacts{Facts: f.facts, Openings: []waitlist.TraceOpening{{Opening: f.openings[0]}}}, f.on(ctx, "Trace", show, fan, before, limit)
}

func (f *fakeStore) Decline(ctx context.Context, ref waitlist.OpeningRef, fan string) (waitlist.Touched, error) {
	return waitlist.Touched{ShowNo: 1}, f.on(ctx, "Decline", ref, fan)
}

func (f *fakeStore) Claim(ctx context.Context, ref waitlist.OpeningRef, batch []waitlist.Take) ([]waitlist.Claimed, int32, error) {
	fans := make([]string, len(batch))
	for i := range batch {
		fans[i] = batch[i].FanID
	}
	if err := f.on(ctx, "Claim", ref, fans); err != nil {
		return nil, 0, err
	}
	out := make([]waitlist.Claimed, len(fans))
	for i := range fans {
		out[i] = waitlist.Claimed{Claim: f.claim, New: f.created}
	}
	return out, 1, nil
}

func (f *fakeStore) ClaimByID(ctx context.Context, id string) (waitlist.Claim, error) {
	return f.claim, f.on(ctx, "ClaimByID", id)
}

func (f *fakeStore) Confirm(ctx context.Context, id string) (waitlist.Claim, error) {
	return f.claim, f.on(ctx, "Confirm", id)
}

func (f *fakeStore) Release(ctx context.Context, id, reason string) (waitlist.Claim, error) {
	return f.claim, f.on(ctx, "Release", id, reason)
}

func (f *fakeStore) Extend(ctx context.Context, id string, by time.Duration) (waitlist.Claim, error) {
	return f.claim, f.on(ctx, "Extend", id, by)
}

// fakeInbox is a fan's inbox; its calls are the store's too.
type fakeInbox struct {
	*fakeStore
	items []notifier.Item
}

func (f *fakeInbox) Items(ctx context.Context, fan string, q notifier.InboxQuery) ([]notifier.Item, int, error) {
	var out []notifier.Item
	for _, it := range f.items {
		at := time.Time(it.CreatedAt)
		older := q.After == nil || at.Before(q.After.At) || at.Equal(q.After.At) && it.ID < q.After.ID
		if older && len(out) < q.Limit {
			out = append(out, it)
		}
	}
	return out, len(f.items), f.on(ctx, "Items", fan, q)
}

func (f *fakeInbox) MarkRead(ctx context.Context, fan string, ids []string) (int, error) {
	return 4, f.on(ctx, "MarkRead", fan, ids)
}

func (f *fakeInbox) Opened(ctx context.Context, fan string, ids []string) error {
	return f.on(ctx, "Opened", fan, ids)
}

func (f *fakeInbox) MarkAllRead(ctx context.Context, fan string, t time.Time) (int, error) {
	return 5, f.on(ctx, "MarkAllRead", fan, t)
}

// argsOf are the latest arguments of a call.
func (f *fakeStore) argsOf(t *testing.T, call string) []any {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	args, ok := f.kept[call]
	if !ok {
		t.Fatalf("no %s among %v", call, f.calls)
	}
	return args
}

func (f *fakeStore) lastArgs() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept[f.calls[len(f.calls)-1]]
}

func (f *fakeStore) Announce(ctx context.Context, show string, a waitlist.NewAnnouncement) (waitlist.Announcement, bool, error) {
	return waitlist.Announcement{No: 9, ShowNo: 1, ID: cmp.Or(a.ID, "ann_1"), Strategy: waitlist.Read, At: noon}, f.created, f.on(ctx, "Announce", show, a)
}

func (f *fakeStore) Accept(ctx context.Context, apiKey string, list []notifier.NewMessage) ([]notifier.Accepted, error) {
	out := make([]notifier.Accepted, len(list))
	for i := range list {
		out[i] = notifier.Accepted{ID: "ntf_" + list[i].Title, FanNo: 5, Duplicate: !f.created}
	}
	return out, f.on(ctx, "Accept", apiKey, list)
}

func (f *fakeStore) Message(ctx context.Context, id string) (notifier.Message, error) {
	return notifier.Message{
		No: 3, ID: id, FanNo: 5, Lane: notifier.Bulk, ExpiresAt: later,
		Item: notifier.Item{ID: notifier.MessageID(id), Kind: notifier.KindMessage, Type: "news", Lane: notifier.Bulk, Title: "T", Body: "B", CreatedAt: notifier.Stamp(noon)},
	}, f.on(ctx, "Message", id)
}

func (f *fakeStore) DeliveriesOf(ctx context.Context, item notifier.ItemRef, fanNo int64) ([]notifier.Delivery, error) {
	return []notifier.Delivery{{
		ID: "ab12", Channel: notifier.SMS, Address: "+44*******12", Phase: notifier.PhaseSent,
		Phases: []notifier.PhaseAt{{Phase: notifier.PhaseAccepted, At: notifier.Stamp(noon)}, {Phase: notifier.PhaseSent, At: notifier.Stamp(noon), Reason: "201"}},
	}}, f.on(ctx, "DeliveriesOf", item, fanNo)
}

func (f *fakeStore) DeliveriesTo(ctx context.Context, fanNo int64, limit int) ([]notifier.Delivery, error) {
	return nil, f.on(ctx, "DeliveriesTo", fanNo, limit)
}

func (f *fakeStore) Stream(ctx context.Context, q notifier.StreamQuery) (notifier.StreamPage, error) {
	if err := f.on(ctx, "Stream", q); err != nil {
		return notifier.StreamPage{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	page := notifier.StreamPage{Events: f.events, Next: q.After}
	if len(f.events) > 0 {
		page.Next = f.events[len(f.events)-1].ID
	}
	return page, nil
}

func (f *fakeStore) StreamHead(ctx context.Context) (string, error) {
	return "", f.on(ctx, "StreamHead")
}

func (f *fakeStore) Grew() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.grew
}

func (f *fakeStore) PutEndpoint(ctx context.Context, id string, c notifier.EndpointChange) (notifier.Endpoint, bool, error) {
	e := notifier.Endpoint{ID: id, URL: "https://shop.example", Secret: []byte("0123456789abcdef01234567"), CreatedAt: noon}
	if c.Types != nil {
		e.Types = *c.Types
	}
	return e, f.created, f.on(ctx, "PutEndpoint", id, c)
}

func (f *fakeStore) Endpoint(ctx context.Context, id string) (notifier.Endpoint, error) {
	return notifier.Endpoint{ID: id, URL: "https://shop.example", Secret: []byte("secret"), CreatedAt: noon, FailingSince: &noon, DisabledAt: &later, Attempts: 3, LastError: "answered 500"},
		f.on(ctx, "Endpoint", id)
}

func (f *fakeStore) OrderFacts(ctx context.Context, ref waitlist.OpeningRef, from int) (waitlist.OrderFacts, error) {
	return waitlist.OrderFacts{}, f.on(ctx, "OrderFacts", ref, from)
}

func (f *fakeStore) FanNames(ctx context.Context, show int32, enos []int64) (map[int64]string, error) {
	return nil, f.on(ctx, "FanNames", show, enos)
}

func (f *fakeStore) DeleteEndpoint(ctx context.Context, id string) error {
	return f.on(ctx, "DeleteEndpoint", id)
}
