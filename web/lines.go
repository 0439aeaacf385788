package web

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"fanline/delivery/live"
	"fanline/waitlist"
)

var (
	_ Lines  = (*waitlist.Service)(nil)
	_ Stream = (*live.Hub)(nil)
)

// Lines is the line and its rules as the calls use them. *waitlist.Service is one.
type Lines interface {
	PutShow(ctx context.Context, id string, c waitlist.ShowChange) (show waitlist.Show, created bool, err error)
	Show(ctx context.Context, id string) (waitlist.Show, error)
	Shows(ctx context.Context, after string, limit int) ([]waitlist.Show, error)
	CancelShow(ctx context.Context, show string) error

	Join(ctx context.Context, show string, j waitlist.Join) (e waitlist.Entry, created bool, err error)
	NameFans(ctx context.Context, batch []waitlist.Join) error
	JoinMany(ctx context.Context, show string, batch []waitlist.Join) ([]waitlist.Joined, error)
	Entry(ctx context.Context, show, fan string) (waitlist.Entry, error)
	Entries(ctx context.Context, show string, f waitlist.EntryFilter) ([]waitlist.Entry, error)
	FanEntries(ctx context.Context, fan string) ([]waitlist.FanEntry, error)
	ChangeEntry(ctx context.Context, show, fan string, c waitlist.EntryChange) (waitlist.Entry, error)
	Leave(ctx context.Context, show, fan string) error
	Remove(ctx context.Context, show, fan, reason string) error
	Wake(ctx context.Context, fan string) error

	FindFan(ctx context.Context, fan string) (fanNo int64, err error)
	EraseFan(ctx context.Context, fan string) error

	Record(ctx context.Context, show string, o waitlist.NewOpening) (opening waitlist.Opening, created bool, err error)
	Opening(ctx context.Context, ref waitlist.OpeningRef) (waitlist.Opening, error)
	Openings(ctx context.Context, show string, before int64, limit int) ([]waitlist.Opening, error)
	WaveReports(ctx context.Context, ref waitlist.OpeningRef, before, limit int) ([]waitlist.WaveReport, error)
	NewestWaves(ctx context.Context, openings []waitlist.Opening, limit int) ([]waitlist.WaveReport, error)
	CancelOpening(ctx context.Context, ref waitlist.OpeningRef) error

	GiveTurn(ctx context.Context, ref waitlist.OpeningRef, fan, reason string) error
	Verdict(ctx context.Context, ref waitlist.OpeningRef, fan string) (waitlist.Verdict, error)
	Trace(ctx context.Context, show, fan string, before int64, limit int) (waitlist.Trace, error)
	Decline(ctx context.Context, ref waitlist.OpeningRef, fan string) error

	Claim(ctx context.Context, ref waitlist.OpeningRef, fan string) (c waitlist.Claim, created bool, err error)
	ClaimByID(ctx context.Context, id string) (waitlist.Claim, error)
	Confirm(ctx context.Context, id string) (waitlist.Claim, error)
	Release(ctx context.Context, id, reason string) (waitlist.Claim, error)
	Extend(ctx context.Context, id string, by time.Duration) (waitlist.Claim, error)
}

// Stream is the hub of live sockets as the stream's call uses it. *live.Hub
// is one.
type Stream interface {
	// Full says that a new connection would be turned away, now or for good.
	Full() bool
	// Serve lives a connection: it returns when the socket has ended, and always
	// ends it.
	Serve(ctx context.Context, ws *websocket.Conn, s live.Session)
}
