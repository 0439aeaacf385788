package live

import (
	"context"
	"time"

	"fanline/notifier"
)

// Feed is where the hub reads what is new for the fans whose sockets it holds.
// store implements it. Wakes are only hints: what the Feed returns is the truth,
// so that a lost or doubled wake changes nothing.
type Feed interface {
	// Start is the cursor of now: News after it returns all that is committed
	// later, and perhaps a little that was committed before.
	Start(ctx context.Context) (Cursor, Moment, error)
	// News returns what was committed since after for those fans who are here, and
	// where to go on. It may return a notice twice, never leave one out, also when
	// transactions commit in another order than they began.
	News(ctx context.Context, after Cursor, here Here) (News, error)
	// Backlog returns, for a fan that just connected, the newest unread items,
	// at most limit, oldest first, and after them the turns still to open (At in
	// the future) and the open turns that were read already (Silent).
	Backlog(ctx context.Context, fanNo int64, limit int) ([]Notice, error)
	// Replay returns a page of what a fan missed.
	Replay(ctx context.Context, fanNo int64, s Span) (Missed, error)
	// Standing returns the present state of each turn, in the order asked:
	// "" for one that no longer exists for its fan.
	Standing(ctx context.Context, turns []TurnKey) ([]notifier.TurnState, error)
	// FanNo returns the number of a fan, who exists from the first call that
	// names it.
	FanNo(ctx context.Context, fanID string) (int64, error)
}

// Here are the fans whose sockets a hub holds. They may change between two calls;
// who enters later reads what there was in a backlog.
type Here interface {
	// Has says whether the fan has a socket.
	Has(fanNo int64) bool
	// All returns the numbers of all who have one.
	All() []int64
}

// Cursor is a place in the feed. It is opaque to the hub; the zero Cursor is not
// valid.
type Cursor string

// Moment is where the history of a database stands: whatever is committed after it
// was read becomes visible, by its own time, no earlier than a millisecond before
// At, how long a transaction may stay open.
type Moment struct {
	Database uint64 // which one
	Timeline uint32 // grows when a database is restored or another machine takes over
	At       time.Time
}

// News is what a look finds. Moment was read before the notices.
type News struct {
	Notices []Notice
	Shared  []Shared
	// SignedOut are the fans who were, whether they are here or not.
	SignedOut []SignOut
	Next      Cursor
	Moment    Moment
}

// SignOut ends the connections that a fan had before At, by the database's clock.
type SignOut struct {
	FanNo int64
	At    time.Time
}

// Shared is an item that is the same for many fans, whose time has come.
type Shared struct {
	At   time.Time
	Item *notifier.Item
	Fans []int64 // numbers
}

// Span is a page of a fan's items with Since < At <= Until, in order of At and id.
type Span struct {
	Since, Until time.Time
	// Page continues behind the last item of the page before; nil: the first.
	Page  *notifier.InboxKey
	Limit int
}

// Missed is such a page.
type Missed struct {
	Items []Notice
	// Total is how many items the span has from this page on.
	Total int
	// Turns come with the first page, of the same snapshot. Those with an Update
	// changed within the span, as they are at Until. The others are to be known:
	// Silent ones opened before Until, and may still change; the rest is still to
	// open. Many is that there are more.
	Turns []Notice
	Many  bool
}

// TurnKey names a turn in the store's numbers.
type TurnKey struct {
	OpeningNo int64
	EntryNo   int64
}

// Notice is one thing for one fan: an item to push, or the new state of one.
type Notice struct {
	FanNo int64
	// At is when the fan may hear of it, by the database's clock. A notice whose
	// time has come is pushed at once.
	At time.Time
	// Item is pushed, unless it is nil.
	Item *notifier.Item
	// Update is pushed to connections that had the item before, unless it is nil.
	Update *notifier.Update
	// Silent: do not push Item (the fan has read it); only watch its Turn.
	Silent bool
	// Turn and Closes are set for an item of a turn. Just before a push of an
	// item that had to wait for its At, and at Closes, the hub asks Standing.
	Turn   TurnKey
	Closes time.Time
}

// Clock tells the database's time: an offset to this machine's monotonic clock,
// never its wall clock.
type Clock interface {
	Now() time.Time
}

// Acts is what a connected fan can do over the socket. store and waitlist's
// service stand behind it, wired together in main.
type Acts interface {
	// Connected is called once for each new socket; it wakes a dormant fan.
	Connected(ctx context.Context, fanID string) error
	// Ack says that items were seen on a screen. An ack is an act.
	Ack(ctx context.Context, fanID string, ids []string) error
	// Read marks items read. Reading is an act.
	Read(ctx context.Context, fanID string, ids []string) error
}
