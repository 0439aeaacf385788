package providers

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// The channels, as Fanline calls them.
const (
	ChannelAPNs    = "apns"
	ChannelFCM     = "fcm"
	ChannelSMS     = "sms"
	ChannelWebPush = "webpush"
	ChannelEmail   = "email"
)

// Got is one send as a service got it.
type Got struct {
	Channel string
	Address string // token, number, endpoint, mailbox
	// Key is what the service collapses doubles by: collapse id, topic, Message-ID. SMS has none.
	Key     string
	ID      string // the service's own, of an accepted one
	ItemID  string
	Title   string
	Body    string
	URL     string
	Payload []byte    // as it came (Web Push: decrypted; email: the whole message)
	Expires time.Time // when the service would give up; zero where it was not said
	At      time.Time
	// Accepted: the service took it, whatever it answered. Answer is that: "200", "410 Unregistered".
	Accepted bool
	Answer   string
}

// PhonesConfig says what is kept.
type PhonesConfig struct {
	// Keep is how many sends the log holds, the newest; 0 is 10,000. Below 0 there is no log, texts are not read,
	// and of each address only the number of sends is kept: for benchmarks.
	Keep int
}

// Phones are the devices, numbers and mailboxes behind the services.
type Phones struct {
	cfg    PhonesConfig
	seed   maphash.Seed
	shards [64]shard

	mu      sync.Mutex
	log     []Got // a ring when full
	next    int
	changed chan struct{} // closed at each send that the log takes
	onGot   func(Got)
}

// shard counts for some of the addresses.
type shard struct {
	mu        sync.Mutex
	accepted  map[string]int
	keys      map[string][]string // distinct keys that an address shows; nil when counting alone
	refused   int
	nAccepted int
}

// NewPhones has nothing yet.
func NewPhones(cfg PhonesConfig) *Phones {
	if cfg.Keep == 0 {
		cfg.Keep = 10_000
	}
	p := &Phones{cfg: cfg, seed: maphash.MakeSeed(), changed: make(chan struct{})}
	for i := range p.shards {
		p.shards[i].accepted = map[string]int{}
		p.shards[i].keys = map[string][]string{}
	}
	return p
}

// counting says that only counts are kept.
func (p *Phones) counting() bool { return p.cfg.Keep < 0 }

// keysKept is how many keys of one address are remembered, the newest.
const keysKept = 1000

func (p *Phones) note(g Got) {
	s := p.shard(g.Channel, g.Address)
	s.mu.Lock()
	if g.Accepted {
		name := g.Channel + " " + g.Address
		s.accepted[name]++
		s.nAccepted++
		if keys := s.keys[name]; !p.counting() && !slices.Contains(keys, g.Key) {
			s.keys[name] = append(keys[max(0, len(keys)-keysKept+1):], g.Key)
		}
	} else {
		s.refused++
	}
	s.mu.Unlock()
	if !p.counting() {
		p.keep(g)
	}
	p.mu.Lock()
	tell := p.onGot
	p.mu.Unlock()
	if tell != nil {
		tell(g)
	}
}

// OnGot sets who is told of each send from now on, by the service's goroutine; it must
// not block. nil is nobody.
func (p *Phones) OnGot(tell func(Got)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onGot = tell
}

func (p *Phones) keep(g Got) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.log) < p.cfg.Keep {
		p.log = append(p.log, g)
	} else {
		p.log[p.next] = g
		p.next = (p.next + 1) % len(p.log)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Phones) shard(channel, address string) *shard {
	return &p.shards[maphash.Comparable(p.seed, [2]string{channel, address})%uint64(len(p.shards))]
}

// Log is what the services got, oldest first.
func (p *Phones) Log() []Got {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.log[p.next:], p.log[:p.next])
}

// Of is what the services got for one address, oldest first.
func (p *Phones) Of(channel, address string) []Got {
	return slices.DeleteFunc(p.Log(), func(g Got) bool { return g.Channel != channel || g.Address != address })
}

// Accepted is how many sends to an address its service took.
func (p *Phones) Accepted(channel, address string) int {
	s := p.shard(channel, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[channel+" "+address]
}

// Shown is how many different alerts an address shows: sends of one key are one.
func (p *Phones) Shown(channel, address string) int {
	s := p.shard(channel, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys[channel+" "+address])
}

// Counts are all sends so far.
type Counts struct{ Accepted, Refused, Addresses int }

// Counts adds up.
func (p *Phones) Counts() (c Counts) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		c.Accepted += s.nAccepted
		c.Refused += s.refused
		c.Addresses += len(s.accepted)
		s.mu.Unlock()
	}
	return c
}

// Wait returns the first send in the log that pred takes, when it is there.
func (p *Phones) Wait(ctx context.Context, pred func(Got) bool) (Got, error) {
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		for _, g := range p.Log() {
			if pred(g) {
				return g, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Got{}, ctx.Err()
		}
	}
}
