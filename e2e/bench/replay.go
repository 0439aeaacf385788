package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"fanline/sim"
)

const (
	replayMissed = 50 // items that a returning fan has missed
	floorFans    = 100
)

// replayBench measures a fan's coming back: from dialling until the cursor that follows what was missed.
type replayBench struct {
	*bench
	app   *sim.App
	base  string
	floor string // address of the bare server
}

func replay(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx)
	if err != nil {
		return err
	}
	r := &replayBench{bench: b, base: i.url, app: sim.NewApp([]string{i.url}, apiKey)}
	defer r.app.Close()
	stop, err := r.serveFloor(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for _, strategy := range []string{"write", "read"} {
		if err := r.measure(ctx, strategy); err != nil {
			return err
		}
	}
	return nil
}

func (r *replayBench) measure(ctx context.Context, strategy string) error {
	const warm = 5
	name := "replay." + strategy
	n := r.times(300) + warm
	cursors, err := r.missItems(ctx, name, strategy, n)
	if err != nil {
		return err
	}
	var p pairs
	r.progress.step()
	for i := range n {
		r.progress.at(strategy+" pairs", i, n)
		ours, floor, err := r.pair(ctx, i, cursors[i], fanID(name, i))
		if err != nil {
			return err
		}
		if i >= warm {
			p.add(ours, floor)
		}
	}
	r.progress.at(strategy+" pairs", n, n)
	r.report(compare(name, "ms", "one indexed query and one write", &p, fmt.Sprintf(
		"connecting included on both sides, %d items missed, a frame each; p99 %.1f ms, the floor's %.1f ms", replayMissed,
		quantile(p.ours, 0.99), quantile(p.floor, 0.99))))
	return nil
}

// pair measures both, in either order.
func (r *replayBench) pair(ctx context.Context, i int, cursor, fan string) (ours, floor float64, err error) {
	bare := func() (err error) {
		floor, err = r.comeBack(ctx, fmt.Sprintf("%s/?fan=%d", r.floor, i%floorFans), "", 0)
		return err
	}
	if i%2 == 0 {
		if err := bare(); err != nil {
			return 0, 0, err
		}
	}
	ours, err = r.comeBack(ctx, r.base+"/v1/me/stream?after="+url.QueryEscape(cursor), fan, replayMissed)
	if err == nil && i%2 == 1 {
		err = bare()
	}
	return ours, floor, err
}

// missItems lets n fans be told of replayMissed openings while they are away, and returns the cursor each left with.
func (r *replayBench) missItems(ctx context.Context, name, strategy string, n int) ([]string, error) {
	release, mode := 10_000.0, "everyone"
	if _, err := r.app.PutShow(ctx, name, sim.PutShow{
		Name: "Bench", Venue: "The Locksmith", StartsAt: time.Now().Add(240 * time.Hour).Truncate(time.Second),
		Policy: &sim.Policy{ReleasePerS: &release, Strategy: &strategy, Mode: &mode},
	}); err != nil {
		return nil, err
	}
	for i := range n {
		if _, err := r.app.Join(ctx, name, sim.Join{FanID: fanID(name, i)}); err != nil {
			return nil, err
		}
	}
	c, err := connect(ctx, r.base, name, n)
	if err != nil {
		return nil, err
	}
	cursors := make([]string, n)
	for i, f := range c.fans {
		cursors[i] = f.Cursor()
	}
	c.close()
	for i := range replayMissed {
		if _, err := r.app.Free(ctx, name, fmt.Sprintf("o%02d", i), sim.Free{Quantity: 1, Reason: "returned"}); err != nil {
			return nil, err
		}
	}
	for i := range replayMissed {
		for {
			o, err := r.app.Opening(ctx, name, fmt.Sprintf("o%02d", i))
			if err != nil {
				return nil, err
			}
			if o.Told == n {
				break
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
	return cursors, nil
}

var cursorFrame = []byte(`{"type":"cursor"`)

// comeBack dials and reads until a cursor, in milliseconds. That many frames of items must come before.
func (r *replayBench) comeBack(ctx context.Context, address, fan string, items int) (float64, error) {
	header := http.Header{}
	if fan != "" {
		header.Set("Authorization", "Bearer "+sim.Token(fanSecret, fan, time.Hour))
	}
	start := time.Now()
	ws, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return 0, err
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(1 << 20)
	got := 0
	for {
		_, frame, err := ws.Read(ctx)
		if err != nil {
			return 0, err
		}
		if bytes.HasPrefix(frame, cursorFrame) {
			break
		}
		if bytes.HasPrefix(frame, []byte(`{"type":"item"`)) {
			got++
		}
	}
	took := millis(time.Since(start))
	if got != items {
		return 0, fmt.Errorf("%d items came back, want %d", got, items)
	}
	return took, nil
}

// serveFloor serves what any server would have to do: accept the socket, ask once, by an index, for the rows of a fan,
// and write them in one frame.
func (r *replayBench) serveFloor(ctx context.Context) (stop func(), err error) {
	for _, sql := range []string{
		`CREATE TABLE bench_missed (fan_no bigint NOT NULL, at timestamptz NOT NULL, body text NOT NULL)`,
		`INSERT INTO bench_missed SELECT f, now() + i * interval '1 s', repeat('x', 400)
			FROM generate_series(0, ` + fmt.Sprint(floorFans-1) + `) f, generate_series(1, ` + fmt.Sprint(replayMissed) + `) i`,
		`CREATE INDEX ON bench_missed (fan_no, at)`,
		`ANALYZE bench_missed`,
	} {
		if _, err := r.db.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.floor = "http://" + l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(r.floorStream)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	return func() { _ = server.Close(); <-served }, nil
}

func (r *replayBench) floorStream(w http.ResponseWriter, q *http.Request) {
	ws, err := websocket.Accept(w, q, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	rows, err := r.db.Query(q.Context(), `
		SELECT body FROM bench_missed WHERE fan_no = $1::text::bigint AND at > 'epoch' ORDER BY at LIMIT 200`, q.URL.Query().Get("fan"))
	if err != nil {
		return
	}
	frame := append([]byte(nil), cursorFrame...)
	for rows.Next() {
		frame = append(frame, rows.RawValues()[0]...)
	}
	if rows.Err() == nil {
		err = ws.Write(q.Context(), websocket.MessageText, frame)
	}
	for err == nil || errors.Is(err, context.Canceled) {
		_, _, err = ws.Read(q.Context())
		if err != nil {
			return
		}
	}
}
