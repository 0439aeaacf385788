package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"fanline/sim"
)

const (
	slowHealthy  = 999 // sockets that read
	slowOpenings = 5   // of each burst; everybody is told of each
)

// slowBench measures what one socket whose client does not read costs those who do: bursts with it and without, turn and
// turn about.
type slowBench struct {
	*bench
	app     *sim.App
	base    string
	pings   int // that fill what the kernel holds for the stalled one, and part of its queue
	seats   int
	healthy *crowd
}

// slowShow is where all of them are in line, and the prefix of their ids. The last one is the one who stalls.
const slowShow = "slow"

func slowReader(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx)
	if err != nil {
		return err
	}
	s := &slowBench{bench: b, base: i.url, app: sim.NewApp([]string{i.url}, apiKey)}
	defer s.app.Close()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if s.healthy, err = connect(ctx, s.base, slowShow, slowHealthy); err != nil {
		return err
	}
	defer s.healthy.close()
	if _, err := s.burst(ctx); err != nil { // the first one, for nothing
		return err
	}
	var p99, p50 pairs
	n := s.times(40)
	s.progress.step()
	for i := range n {
		s.progress.at("pairs of bursts", i, n)
		with, without, err := s.pair(ctx, i%2 == 0)
		if err != nil {
			return err
		}
		p99.add(quantile(with, 0.99), quantile(without, 0.99))
		p50.add(median(with), median(without))
	}
	s.progress.at("pairs of bursts", n, n)
	const floor = "the same without the stalled one"
	note := fmt.Sprintf("%d sockets that read, %d items each a burst, from the report of the first seat to the frame", slowHealthy, slowOpenings)
	s.report(compare("slow_reader.p99", "ms", floor, &p99, note))
	s.report(compare("slow_reader.p50", "ms", floor, &p50, note))
	return nil
}

func (s *slowBench) prepare(ctx context.Context) error {
	release, mode, window, missed := 10_000.0, "everyone", 2, 0
	if _, err := s.app.PutShow(ctx, slowShow, sim.PutShow{
		Name: "Bench", Venue: "The Locksmith", StartsAt: time.Now().Add(240 * time.Hour).Truncate(time.Second),
		Policy: &sim.Policy{ReleasePerS: &release, Mode: &mode, ClaimWindowS: &window, MaxMissed: &missed},
	}); err != nil {
		return err
	}
	for i := range slowHealthy + 1 {
		if _, err := s.app.Join(ctx, slowShow, sim.Join{FanID: fanID(slowShow, i)}); err != nil {
			return err
		}
	}
	// How many answers to pings fit where nobody reads: all that a client finds who reads only after it was closed.
	ws, err := s.stalled(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = ws.CloseNow() }()
	for ping(ctx, ws) == nil {
		s.pings++
	}
	for s.pings = 0; ; s.pings++ {
		if _, _, err := ws.Read(ctx); err != nil {
			break
		}
	}
	s.pings += 2000
	return ctx.Err()
}

// stalled connects the one who does not read, with a small buffer: with the smallest there is, the kernel may drop
// what acknowledges its own sending, too.
func (s *slowBench) stalled(ctx context.Context) (*websocket.Conn, error) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return c, err
	}
	ws, _, err := websocket.Dial(ctx, s.base+"/v1/me/stream", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}},
		HTTPHeader: http.Header{"Authorization": {"Bearer " + sim.Token(fanSecret, fanID(slowShow, slowHealthy), time.Hour)}},
	})
	return ws, err
}

func ping(ctx context.Context, ws *websocket.Conn) error {
	return ws.Write(ctx, websocket.MessageText, []byte(`{"type":"ping"}`))
}

// pair is a burst with the stalled one and one without, in either order.
func (s *slowBench) pair(ctx context.Context, stalledFirst bool) (with, without []float64, err error) {
	if !stalledFirst {
		if without, err = s.burst(ctx); err != nil {
			return nil, nil, err
		}
	}
	if with, err = s.burstBesideStalled(ctx); err != nil {
		return nil, nil, err
	}
	if stalledFirst {
		without, err = s.burst(ctx)
	}
	return with, without, err
}

func (s *slowBench) burstBesideStalled(ctx context.Context) ([]float64, error) {
	ws, err := s.stalled(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ws.CloseNow() }()
	for range s.pings {
		if err := ping(ctx, ws); err != nil {
			return nil, fmt.Errorf("the stalled one was cut off too soon: %w", err)
		}
	}
	return s.burst(ctx)
}

// burst reports some seats and returns how long each frame took, in milliseconds. It ends when the turns are over, so
// that the next one finds nothing to do.
func (s *slowBench) burst(ctx context.Context) ([]float64, error) {
	start := time.Now()
	for range slowOpenings {
		s.seats++
		if _, err := s.app.Free(ctx, slowShow, fmt.Sprintf("o%05d", s.seats), sim.Free{Quantity: 1, Reason: "returned"}); err != nil {
			return nil, err
		}
	}
	took := make([]float64, 0, slowHealthy*slowOpenings)
	for range slowHealthy * slowOpenings {
		a, err := s.healthy.next(ctx, 10*time.Second)
		if err != nil {
			return nil, err
		}
		took = append(took, millis(a.item.At.Sub(start)))
	}
	return took, pause(ctx, 3*time.Second)
}
