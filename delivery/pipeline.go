package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"fanline/notifier"
)

// PipelineConfig configures a Pipeline. All must be there but Unsubscribe and Log.
type PipelineConfig struct {
	Outbox     Outbox
	Recipients Recipients
	Online     Online
	Providers  []Provider
	Keys       *Keys
	Limits     permits
	Breakers   breaks
	Retire     retires
	Clock      Clock
	// Unsubscribe is the address that a token of Recipients.UnsubscribeToken is put
	// behind; "" without one.
	Unsubscribe string
	Log         *slog.Logger

	// CallTimeout bounds one attempt; 0: 10 s. CallsFor is for how long a job begins
	// attempts; 0: 4 s. Together they are less than a job's time.
	CallTimeout, CallsFor time.Duration
}

// Pipeline brings items to fans who are not looking, through providers: plans find
// out who is to be told by which channel (plan.go), chunks of sends take that
// through preferences, key, limit, provider and record (chunk.go). It is the lanes'
// Sender. It has no goroutine between calls.
type Pipeline struct {
	cfg       PipelineConfig
	providers map[notifier.Channel]Provider
	channels  []notifier.Channel // of the providers
	slots     map[slotKey]chan struct{}

	counts PipelineStats
}

type slotKey struct {
	lane    notifier.Lane
	channel notifier.Channel
}

// callsOf is how many attempts of a lane one process has under way by a channel.
// Mail and text messages go over few connections.
var callsOf = map[notifier.Channel]int{
	notifier.APNs: 256, notifier.FCM: 256, notifier.WebPush: 128, notifier.SMS: 32, notifier.Email: 16,
}

// PipelineStats only grow.
type PipelineStats struct {
	Sent, Failed, Skipped, Put, Throttled atomic.Int64
	// Unsure attempts may have been accepted, and were made again with the same key.
	Unsure atomic.Int64
	// Duplicates were asked for again. Misconfigured attempts say that a channel's
	// settings are wrong.
	Duplicates, Misconfigured atomic.Int64
	// Panics are attempts that ended in one: bugs, each logged with its stack.
	Panics atomic.Int64
	// Kept are addresses that a provider called dead while too many were.
	Kept atomic.Int64

	sentBy map[notifier.Channel]*atomic.Int64 // of all channels, made once
}

// SentBy is Sent by channel.
func (s *PipelineStats) SentBy() map[notifier.Channel]int64 {
	by := make(map[notifier.Channel]int64, len(s.sentBy))
	for c, n := range s.sentBy {
		by[c] = n.Load()
	}
	return by
}

// NewPipeline returns a Pipeline.
func NewPipeline(cfg PipelineConfig) (*Pipeline, error) {
	if cfg.Outbox == nil || cfg.Recipients == nil || cfg.Online == nil || cfg.Keys == nil || cfg.Limits == nil ||
		cfg.Breakers == nil || cfg.Retire == nil || cfg.Clock == nil {
		return nil, errors.New("a pipeline needs all its parts")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 10*time.Second)
	cfg.CallsFor = cmp.Or(cfg.CallsFor, 4*time.Second)
	p := &Pipeline{cfg: cfg, providers: map[notifier.Channel]Provider{}, slots: map[slotKey]chan struct{}{}}
	p.counts.sentBy = map[notifier.Channel]*atomic.Int64{}
	for _, provider := range cfg.Providers {
		c := provider.Channel()
		p.counts.sentBy[c] = &atomic.Int64{}
		p.providers[c], p.channels = provider, append(p.channels, c)
		for _, l := range notifier.Lanes {
			p.slots[slotKey{l, c}] = make(chan struct{}, callsOf[c])
		}
	}
	slices.Sort(p.channels)
	return p, nil
}

// Channels are those with a provider.
func (p *Pipeline) Channels() []notifier.Channel { return p.channels }

// Stats are the figures so far.
func (p *Pipeline) Stats() *PipelineStats { return &p.counts }

// Close ends the providers' connections.
func (p *Pipeline) Close() error {
	var err error
	for _, provider := range p.providers {
		err = errors.Join(err, provider.Close())
	}
	return err
}

// recipients reads those of parcels, with their addresses of these channels.
func (p *Pipeline) recipients(ctx context.Context, parcels []Parcel, channels []notifier.Channel) (map[int64]*Recipient, error) {
	to := make(map[int64]*Recipient, len(parcels))
	for fans := range slices.Chunk(fansOf(parcels), recipientsMost) {
		some, err := p.cfg.Recipients.Recipients(ctx, fans, channels)
		if err != nil {
			return nil, err
		}
		for no, r := range some {
			to[no] = r
		}
	}
	return to, nil
}

// recipientsMost is how many recipients are read at once.
const recipientsMost = 1000

func fansOf(parcels []Parcel) []int64 {
	fans := make([]int64, len(parcels))
	for i := range parcels {
		fans[i] = parcels[i].FanNo
	}
	slices.Sort(fans)
	return slices.Compact(fans)
}
