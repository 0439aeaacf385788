package sim

import (
	"context"
	"sync"
	"time"
)

// actor is one connected fan of the story, who answers each turn by temper.
type actor struct {
	s    *Story
	ctx  context.Context // the story's run, while the story plays this fan
	show string
	name string

	leave context.CancelFunc // ends ctx, for a person who plays on
	ready chan struct{}      // closed when fan is set; a frame may come before
	fan   *Fan

	mu    sync.Mutex
	turns map[string]context.CancelFunc // by item, while the turn is open
}

// connect gives each of the fans a socket, several at a time.
func (s *Story) connect(ctx context.Context, show string, fans []string) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	errs := make(chan error, len(fans))
	for _, name := range fans {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs <- s.connectOne(ctx, show, name)
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tokenTTL outlasts any demo.
const tokenTTL = 30 * 24 * time.Hour

func (s *Story) connectOne(ctx context.Context, show, name string) error {
	if s.played(name) {
		return nil
	}
	ctx, leave := context.WithCancel(ctx)
	a := &actor{
		s: s, ctx: ctx, leave: leave, show: show, name: name,
		ready: make(chan struct{}), turns: map[string]context.CancelFunc{},
	}
	fan, err := Connect(ctx, FanConfig{
		BaseURLs: []string{s.cfg.BaseURL}, Token: Token(s.cfg.JWTSecret, name, tokenTTL),
		Reconnect: true, Keep: 8, OnFrame: a.hear,
		Options: []Option{WithHTTPClient(s.http), WithRetry(10*time.Second, Backoff{})},
	})
	if err != nil {
		leave()
		return err
	}
	a.fan = fan
	close(a.ready)
	s.mu.Lock()
	gone := s.stopping || s.persons[name]
	if !gone {
		s.actors[a] = true
	}
	s.mu.Unlock()
	if gone {
		leave()
		fan.Close()
	}
	return nil
}

// hear runs on the goroutine that reads the socket, so it only starts things.
func (a *actor) hear(f Frame) {
	switch {
	case f.Item != nil && !f.Double && f.Item.Kind == "turn" && f.Item.ShowID == a.show:
		a.begin(*f.Item)
	case f.Type == "update" && f.State == "over":
		a.over(f.ID)
	}
}

// begin answers a turn that is still open; one replayed from before may be over.
func (a *actor) begin(item Item) {
	if item.State != "open" || !item.ClosesAt.After(a.s.now()) || a.ctx.Err() != nil {
		return
	}
	// Held by the server's own end of the turn alone, not by what follows a claim.
	turn, end := context.WithCancel(a.ctx)
	a.mu.Lock()
	a.turns[item.ID] = end
	a.mu.Unlock()
	a.s.wg.Go(func() {
		defer a.over(item.ID)
		a.answer(turn, item)
	})
}

func (a *actor) over(id string) {
	a.mu.Lock()
	end := a.turns[id]
	delete(a.turns, id)
	a.mu.Unlock()
	if end != nil {
		end()
	}
}

// answer tells of the turn and does with it what the fan's temper says.
func (a *actor) answer(turn context.Context, item Item) {
	select {
	case <-a.ready:
	case <-a.ctx.Done():
		return
	}
	o := a.s.note(a.show, item.OpeningID, 0)
	a.s.tellForeign(a.ctx, o)
	a.tellTurn(o, item)
	p := planFor(a.s.cfg.Seed, a.name, item.OpeningID)
	wait := time.Until(item.ClosesAt)
	if p.act != sleeps {
		wait = share(p.think, wait)
		_ = a.fan.Ack(turn, item.ID) // a sleeper's phone stays in the pocket
	}
	early := pause(turn, wait) != nil && a.s.now().Before(item.ClosesAt)
	if a.ctx.Err() != nil {
		return
	}
	if early {
		a.tell(o, verbEnded, "%s, %s before time", a.name, span(time.Until(item.ClosesAt)))
		return
	}
	switch p.act {
	case buys, forgets:
		a.claim(o, p)
	case declines:
		a.decline(o)
	case sleeps:
		a.sleep(o, item)
	}
}

func (a *actor) claim(o *opening, p plan) {
	claim, err := a.fan.Claim(a.ctx, o.show, o.id)
	if err != nil {
		a.fail(o, "could not claim", err)
		return
	}
	hold := time.Until(claim.ExpiresAt)
	a.tell(o, verbClaimed, "%s, %s to pay", a.name, span(hold.Round(time.Second)))
	if p.act == forgets {
		if pause(a.ctx, hold) == nil {
			o.pass(claim.ExpiresAt)
			a.tell(o, verbLapsed, "%s did not pay in time", a.name)
		}
		return
	}
	if pause(a.ctx, share(p.pay, hold)) != nil {
		return
	}
	a.buy(o, claim)
}

func (a *actor) buy(o *opening, claim Claim) {
	if _, err := a.s.app.Confirm(a.ctx, claim.ID); err != nil {
		a.fail(o, "could not pay", err)
		return
	}
	note := ""
	if o.buy(max(1, claim.Seats)) {
		note = "; the opening is filled"
	}
	a.tell(o, verbBought, "%s%s", a.name, note)
	rest := 5*time.Second + share(draw(a.s.cfg.Seed, a.name, o.id, "rest").Float64(), 10*time.Second)
	if pause(a.ctx, rest) == nil {
		a.after()
	}
}

// after keeps the lines going: in the club the same fan comes again, in the
// stadium the next in line takes over the socket.
func (a *actor) after() {
	if a.show == clubShow {
		entry, err := a.s.app.Join(a.ctx, a.show, Join{FanID: a.name})
		if err == nil {
			a.s.tale.tell(a.show, "", verbJoined, "%s, again, at position %d", a.name, entry.Position)
		}
		return
	}
	next, err := a.s.front(a.ctx, 1)
	if err != nil || len(next) == 0 {
		return
	}
	a.s.mu.Lock()
	delete(a.s.actors, a)
	a.s.mu.Unlock()
	a.fan.Close()
	// Whoever does not get in is offline, as most of the line is.
	_ = a.s.connectOne(a.ctx, a.show, next[0])
}

func (a *actor) decline(o *opening) {
	// Told first: the next fan's frame may overtake the answer.
	o.pass(a.s.now())
	a.tell(o, verbDeclined, "%s does not want it", a.name)
	if err := a.fan.Decline(a.ctx, o.show, o.id); err != nil {
		a.fail(o, "could not decline", err)
	}
}

// sleep lets the turn lapse; later the fan looks at the phone, which wakes an
// entry that missed too often.
func (a *actor) sleep(o *opening, item Item) {
	o.pass(item.ClosesAt)
	a.tell(o, verbLapsed, "%s did not look in %s", a.name, span(item.ClosesAt.Sub(item.OpensAt).Round(time.Second)))
	if pause(a.ctx, 20*time.Second) == nil {
		_, _ = a.fan.MarkRead(a.ctx, item.ID)
	}
}

func (a *actor) tell(o *opening, verb, format string, args ...any) {
	a.s.tale.tell(o.show, seatName(o.id), verb, format, args...)
}

func (a *actor) fail(o *opening, what string, err error) {
	if a.ctx.Err() != nil {
		return
	}
	word := CodeOf(err)
	if word == "" {
		word = err.Error()
	}
	a.tell(o, verbFailed, "%s %s: %s", a.name, what, word)
}

// replayed is how late a turn is that waited for the fan to connect.
const replayed = time.Second

// tellTurn says whose turn it is, and how long after the seat came free, or was
// passed on, the frame was at the fan's socket.
func (a *actor) tellTurn(o *opening, item Item) {
	since, next := o.turn(item.OpensAt)
	verb := verbTurn
	if next {
		verb = verbNext
	}
	if late := item.At.Sub(item.OpensAt); late > replayed {
		a.tell(o, verb, "%s, picked up after %s", a.name, span(late))
		return
	}
	a.tell(o, verb, "%s, told in %s", a.name, span(item.At.Sub(since)))
}

// tellForeign tells, once, of an opening that the story did not make.
func (s *Story) tellForeign(ctx context.Context, o *opening) {
	o.told.Do(func() {
		now, err := s.app.Opening(ctx, o.show, o.id)
		if err != nil {
			return
		}
		o.mu.Lock()
		o.quantity = now.Quantity
		o.mu.Unlock()
		who := "by somebody else"
		if now.RecordedAt.Before(s.started) {
			who = "before this start"
		}
		s.tale.tell(o.show, seatName(o.id), verbFreed, "%s, %s: %s", seats(now.Quantity), who, reasons[now.Reason])
	})
}

// turn takes one seat off those free and says since when it was; where the story
// saw none come free, since the turn opened.
func (o *opening) turn(opened time.Time) (since time.Time, next bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turns++
	next = o.quantity > 0 && o.turns > o.quantity
	if len(o.free) == 0 {
		return opened, next
	}
	since, o.free = o.free[0], o.free[1:]
	return since, next
}

// pass notes that a seat came free again.
func (o *opening) pass(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free = append(o.free, at)
}

// buy notes seats bought and says whether they were the last.
func (o *opening) buy(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bought += n
	return o.bought == o.quantity
}
