package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"fanline/sim"
)

// arrival is an item that came to a fan's socket.
type arrival struct {
	fan  int
	item sim.Item
}

// crowd is fans with a socket each. All that they get comes out of one channel.
type crowd struct {
	fans []*sim.Fan
	came chan arrival
}

// backlog is the most items that a fan is sent who comes without a cursor.
const backlog = 200

// connect connects n fans, named prefix-0 and so on, to one instance. A fan counts as connected when the instance has
// replayed what there was; not more than a few are replayed at once, since an instance turns away a crowd that comes
// together.
func connect(ctx context.Context, base, prefix string, n int) (*crowd, error) {
	c := &crowd{fans: make([]*sim.Fan, n), came: make(chan arrival, backlog+16*n)}
	errs := make([]error, n)
	slots := make(chan struct{}, 32)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = c.connect(ctx, i, base, fanID(prefix, i))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *crowd) connect(ctx context.Context, i int, base, fan string) (err error) {
	c.fans[i], err = sim.Connect(ctx, sim.FanConfig{
		BaseURLs: []string{base}, Token: sim.Token(fanSecret, fan, time.Hour), Keep: 8,
		OnFrame: func(f sim.Frame) {
			if f.Item != nil {
				c.came <- arrival{i, *f.Item}
			}
		},
	})
	if err != nil {
		return err
	}
	_, err = c.fans[i].WaitFrame(ctx, func(f sim.Frame) bool { return f.Type == "cursor" })
	return err
}

// next waits for an item.
func (c *crowd) next(ctx context.Context, patience time.Duration) (arrival, error) {
	select {
	case a := <-c.came:
		return a, nil
	case <-time.After(patience):
		return arrival{}, errors.New("no frame came in " + patience.String())
	case <-ctx.Done():
		return arrival{}, ctx.Err()
	}
}

func (c *crowd) close() {
	var wg sync.WaitGroup
	for _, f := range c.fans {
		if f != nil {
			wg.Go(f.Kill)
		}
	}
	wg.Wait()
}
