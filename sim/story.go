package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fanline/sim/providers"
)

// StoryConfig says what the demo runs against. BaseURL, APIKey, JWTSecret and Out
// are required.
type StoryConfig struct {
	BaseURL   string // of a loopback host; any other is refused
	APIKey    string
	JWTSecret string

	Stadium        int           // fans in the stadium's line; 0 leaves that show out
	StadiumSockets int           // how many of them are connected, from the front; 0 is 300
	Every          time.Duration // between freed seats; 0 is 6 s
	ClubWindow     time.Duration // whole seconds; 0 is 8 s
	StadiumWindow  time.Duration // whole seconds; 0 is 12 s
	Hold           time.Duration // whole seconds; 0 is 20 s
	Seed           uint64        // who behaves how

	// Phones are where the fans in front get alerts while they do not look; nil: nowhere.
	Phones *providers.All

	Out       io.Writer
	Terminal  bool      // Out is a terminal: colour (unless NO_COLOR is set) and a bar that is drawn over
	Addresses []Address // printed at the start; nil is the admin page and the API's
}

// Story is the demo: two shows, their fans, and a seat freed every few seconds.
type Story struct {
	cfg     StoryConfig
	run     string // begins the opening ids of this run
	http    *http.Client
	app     *App
	scr     *screen
	tale    *tale
	phones  *phones // nil where there are none
	now     func() time.Time
	started time.Time
	filled  atomic.Bool    // the stadium's line, and those in front have their sockets
	wg      sync.WaitGroup // what fans are doing

	frontMu    sync.Mutex
	frontPlace int64 // the last place of the stadium's line that was given a socket

	mu       sync.Mutex // never held over a call
	stopping bool
	actors   map[*actor]bool
	persons  map[string]bool // fans whom a person plays
	openings map[string]*opening
	order    []string // of openings, oldest first
}

// NewStory checks the configuration and refuses a host that is not loopback.
func NewStory(cfg StoryConfig) (*Story, error) {
	if err := loopback(cfg.BaseURL); err != nil {
		return nil, err
	}
	if cfg.APIKey == "" || cfg.JWTSecret == "" || cfg.Out == nil {
		return nil, errors.New("sim: the story needs an API key, a token secret and a writer")
	}
	cfg = cfg.withDefaults()
	s := &Story{
		cfg: cfg, http: NewHTTPClient(), now: time.Now, started: time.Now(),
		run:    runPrefix + strconv.FormatInt(time.Now().UnixMilli(), 36),
		scr:    &screen{out: cfg.Out, terminal: cfg.Terminal},
		actors: map[*actor]bool{}, persons: map[string]bool{}, openings: map[string]*opening{},
	}
	s.app = NewApp([]string{cfg.BaseURL}, cfg.APIKey, WithHTTPClient(s.http), WithRetry(15*time.Second, Backoff{}))
	if cfg.Phones != nil {
		s.phones = &phones{s: s, all: cfg.Phones, owners: map[string]string{}}
		cfg.Phones.Phones.OnGot(s.phones.ring)
	}
	s.tale = &tale{scr: s.scr, colour: cfg.Terminal && os.Getenv("NO_COLOR") == "", now: time.Now}
	return s, nil
}

func (c StoryConfig) withDefaults() StoryConfig {
	setDefault(&c.StadiumSockets, 300)
	setDefault(&c.Every, 6*time.Second)
	setDefault(&c.ClubWindow, 8*time.Second)
	setDefault(&c.StadiumWindow, 12*time.Second)
	setDefault(&c.Hold, 20*time.Second)
	if c.Addresses == nil {
		c.Addresses = []Address{{"admin page", c.BaseURL + "/admin"}, {"API", c.BaseURL + "/docs"}}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// loopback refuses to play with anything but this machine: the demo buys seats.
func loopback(base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return fmt.Errorf("sim: base URL: %w", err)
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("sim: the demo plays on loopback only, not on %q", base)
}

// Run plays until ctx ends, which is no error, or the shows cannot be set up. It
// may be called once. When it returns, every goroutine and socket of it has ended.
func (s *Story) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	err := s.play(ctx)
	stopped := ctx.Err() != nil
	cancel()
	s.stop()
	if stopped {
		return nil
	}
	return err
}

func (s *Story) play(ctx context.Context) error {
	if err := s.setClub(ctx); err != nil {
		return err
	}
	if err := s.setPhones(ctx, clubFans); err != nil {
		return err
	}
	if err := s.connect(ctx, clubShow, clubFans); err != nil {
		return err
	}
	s.tale.greet(s.cfg)
	side, ctx := errgroup.WithContext(ctx)
	side.Go(func() error { return s.fillStadium(ctx) })
	side.Go(func() error { return s.freeSeats(ctx) })
	return side.Wait()
}

// fillStadium sets up the stadium's show, beside the club's story: its line may take
// minutes to fill.
func (s *Story) fillStadium(ctx context.Context) error {
	if s.cfg.Stadium == 0 {
		return nil
	}
	if err := s.setStadium(ctx); err != nil {
		return err
	}
	fans, err := s.front(ctx, s.cfg.StadiumSockets)
	if err != nil {
		return err
	}
	if err := s.setPhones(ctx, fans); err != nil {
		return err
	}
	if err := s.connect(ctx, stadiumShow, fans); err != nil {
		return err
	}
	s.filled.Store(true)
	return nil
}

// stop closes every socket, then waits for what the fans were doing.
func (s *Story) stop() {
	s.mu.Lock()
	s.stopping = true
	actors := s.actors
	s.actors = nil
	s.mu.Unlock()
	var closing sync.WaitGroup
	for a := range actors {
		closing.Go(a.fan.Close)
	}
	closing.Wait()
	s.wg.Wait()
	s.http.CloseIdleConnections()
}
