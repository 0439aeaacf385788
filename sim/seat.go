package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// freeSeats frees a seat of the club and the stadium in turn, now and then two at
// once; of the club alone as long as the stadium fills.
func (s *Story) freeSeats(ctx context.Context) error {
	last, err := s.lastNumber(ctx)
	if err != nil {
		return err
	}
	words := []string{"card_declined", "hold_timeout", "returned", "new_inventory"}
	for n := last + 1; ; n++ {
		chance := draw(s.cfg.Seed, "free", strconv.Itoa(n))
		free := Free{Quantity: 1, Reason: words[chance.IntN(len(words))]}
		if chance.IntN(5) == 0 {
			free.Quantity = 2
		}
		show := clubShow
		if (n-last)%2 == 0 && s.filled.Load() {
			show = stadiumShow
		}
		s.free(ctx, show, n, free)
		if err := pause(ctx, s.cfg.Every); err != nil {
			return err
		}
	}
}

func (s *Story) free(ctx context.Context, show string, n int, free Free) {
	id := s.run + "-" + strconv.Itoa(n)
	// Noted and told first: the fan's frame may overtake the answer to the report.
	s.note(show, id, free.Quantity)
	s.tale.tell(show, seatName(id), verbFreed, "%s: %s", seats(free.Quantity), reasons[free.Reason])
	if _, err := s.app.Free(ctx, show, id, free); err != nil && ctx.Err() == nil {
		s.tale.tell(show, seatName(id), verbFailed, "the seat was not taken in: %v", err)
	}
}

// lastNumber is the number of the last opening that an earlier run on the same data
// made, or 0: numbers go on, so that what is carried over has one of its own.
func (s *Story) lastNumber(ctx context.Context) (last int, err error) {
	for _, show := range []string{clubShow, stadiumShow} {
		n, err := s.lastOf(ctx, show)
		if err != nil {
			return 0, fmt.Errorf("look for the openings of earlier runs: %w", err)
		}
		last = max(last, n)
	}
	return last, nil
}

// lastOf looks through as many openings as the story remembers; the others were freed
// by hand.
func (s *Story) lastOf(ctx context.Context, show string) (int, error) {
	looked := 0
	for o, err := range s.app.Openings(ctx, show) {
		if CodeOf(err) == "not_found" {
			return 0, nil // the show is not set up yet
		}
		if err != nil {
			return 0, err
		}
		if n, ours := storyNumber(o.ID); ours {
			return n, nil // the newest stands first
		}
		if looked++; looked == openingsKept {
			break
		}
	}
	return 0, nil
}

// runPrefix begins the opening ids of all runs.
const runPrefix = "demo-"

// storyNumber is 12 for "demo-lx3k-12".
func storyNumber(id string) (n int, ours bool) {
	rest, ours := strings.CutPrefix(id, runPrefix)
	if !ours {
		return 0, false
	}
	_, number, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(number)
	return n, err == nil
}

// opening is what the story knows of one: who is to be told next, and since when.
type opening struct {
	show, id string
	told     sync.Once // that somebody else freed it

	mu       sync.Mutex
	quantity int         // 0 until it is known
	free     []time.Time // since when each seat without a turn is free
	turns    int
	bought   int
}

// openingsKept is how many openings the story remembers.
const openingsKept = 500

// note makes an opening known. With a quantity its seats are free from now on.
func (s *Story) note(show, id string, quantity int) *opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := show + "/" + id
	if o := s.openings[key]; o != nil {
		return o
	}
	o := &opening{show: show, id: id, quantity: quantity, free: slices.Repeat([]time.Time{s.now()}, quantity)}
	if quantity > 0 {
		o.told.Do(func() {})
	}
	s.openings[key] = o
	if s.order = append(s.order, key); len(s.order) > openingsKept {
		delete(s.openings, s.order[0])
		s.order = s.order[1:]
	}
	return o
}

// seatName is what the tale calls an opening: "#12" for "demo-lx3k-12".
func seatName(id string) string {
	tail := id
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '-' {
			tail = id[i+1:]
			break
		}
	}
	return "#" + tail[max(0, len(tail)-4):]
}
