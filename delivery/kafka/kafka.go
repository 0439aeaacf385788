package kafka

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"fanline/delivery"
	"fanline/notifier"
)

// Store is the stream and how far the export is. store implements it.
type Store interface {
	delivery.Followers
	notifier.Stream
	// AddFollower makes a follower unless there is one.
	AddFollower(ctx context.Context, name string) error
}

// Config is what an Exporter stands on.
type Config struct {
	Brokers []string
	Topic   string
	Store   Store
	// Grew is closed when the stream grew; see notifier.Tail.
	Grew func() <-chan struct{}
	Log  *slog.Logger
}

const (
	follower = "kafka"
	// pageSize is how many events wait for the brokers at a time.
	pageSize = 500
	// lookEvery is how often another process's lease is tried, and how soon the next
	// try after a failure comes.
	lookEvery = time.Second
	lease     = 30 * time.Second
	storeTime = 5 * time.Second
	// ackTime is how long a page waits for its brokers before the lease is looked at
	// and it is written anew.
	ackTime = 20 * time.Second
)

// Exporter writes the stream to a topic. Its methods may be called concurrently;
// Start once.
type Exporter struct {
	cfg   Config
	owner string
	loops *notifier.Loops

	exported, failed atomic.Int64
}

// New returns an Exporter that is not started, or an error for brokers that cannot
// be read.
func New(cfg Config) (*Exporter, error) {
	e := &Exporter{cfg: cfg, owner: rand.Text(), loops: notifier.NewLoops(cfg.Log)}
	client, err := e.client()
	if err != nil {
		return nil, err
	}
	client.Close()
	return e, nil
}

// Exported and Failed are how many events were written and how many pages were not.
func (e *Exporter) Exported() int64 { return e.exported.Load() }

// Failed is how many pages were not acknowledged in time.
func (e *Exporter) Failed() int64 { return e.failed.Load() }

// client makes an idempotent producer, which is franz-go's default.
func (e *Exporter) client() (*kgo.Client, error) {
	return kgo.NewClient(
		kgo.SeedBrokers(e.cfg.Brokers...), kgo.DefaultProduceTopic(e.cfg.Topic), kgo.ClientID("fanline"),
		kgo.MaxBufferedRecords(pageSize), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.DialTimeout(storeTime),
	)
}

// Check says with an error that no broker answers or the topic is not there.
func Check(ctx context.Context, brokers []string, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}

// Start begins to export. Stop ends it.
func (e *Exporter) Start() { e.loops.Go(e.run) }

// Stop breaks off what is not acknowledged, which is written again, and waits.
func (e *Exporter) Stop() { e.loops.Stop() }

func (e *Exporter) run(ctx context.Context) {
	faults := notifier.Faults{Log: e.cfg.Log}
	for ctx.Err() == nil {
		faults.Note(ctx, "export the stream to Kafka; it goes on where it was", e.own(ctx))
		notifier.Pause(ctx, lookEvery)
	}
}

// own exports for as long as this process has the lease and nothing fails. After a
// failure the producer is a new one: what the old one has in flight is not known.
func (e *Exporter) own(ctx context.Context) error {
	after, mine, err := e.lease(ctx)
	if err != nil || !mine {
		return err
	}
	defer e.release(ctx)
	client, err := e.client()
	if err != nil {
		return err
	}
	defer client.Close()
	for mine && ctx.Err() == nil {
		grew := e.cfg.Grew()
		next, err := e.export(ctx, client, after)
		if err != nil {
			return err
		}
		if next == after {
			e.wait(ctx, grew)
		}
		if mine, err = e.advance(ctx, next); err != nil {
			return err
		}
		after = next
	}
	return nil
}

// wait waits until the stream grew, or it is time to renew the lease.
func (e *Exporter) wait(ctx context.Context, grew <-chan struct{}) {
	t := time.NewTimer(lease / 3)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-grew:
	case <-t.C:
	}
}

// export writes a page and returns where to go on, when all of it is acknowledged.
func (e *Exporter) export(ctx context.Context, client *kgo.Client, after string) (next string, err error) {
	page, err := e.page(ctx, after)
	if err != nil || len(page.Events) == 0 {
		return page.Next, err
	}
	records := make([]*kgo.Record, len(page.Events))
	for i := range page.Events {
		if records[i], err = record(&page.Events[i]); err != nil {
			return "", err
		}
	}
	acked, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	if err := client.ProduceSync(acked, records...).FirstErr(); err != nil {
		e.failed.Add(1)
		return "", fmt.Errorf("write %d events: %w", len(records), err)
	}
	e.exported.Add(int64(len(records)))
	return page.Next, nil
}

// page reads what is next. An export that was off for longer than the stream is
// kept goes on with the oldest that there is.
func (e *Exporter) page(ctx context.Context, after string) (notifier.StreamPage, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	q := notifier.StreamQuery{After: after, Limit: pageSize, WithoutFanID: true}
	page, err := e.cfg.Store.Stream(ctx, q)
	if errors.Is(err, notifier.ErrTooOld) {
		e.cfg.Log.Error("events were not exported to Kafka: it was away for longer than the stream is kept")
		q.After = ""
		page, err = e.cfg.Store.Stream(ctx, q)
	}
	return page, err
}

// record is an event as it is written. Events of one fan keep their order, and so
// do those of a show that are about no fan.
func record(ev *notifier.StreamEvent) (*kgo.Record, error) {
	value, err := json.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	key := ev.ShowID
	if ev.Fan != 0 {
		key = strconv.FormatInt(ev.Fan, 10)
	}
	return &kgo.Record{Key: []byte(key), Value: value, Timestamp: time.Time(ev.At)}, nil
}

func (e *Exporter) lease(ctx context.Context) (after string, mine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if err := e.cfg.Store.AddFollower(ctx, follower); err != nil {
		return "", false, err
	}
	return e.cfg.Store.LeaseFollower(ctx, follower, e.owner, lease)
}

func (e *Exporter) advance(ctx context.Context, place string) (mine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return e.cfg.Store.Advance(ctx, follower, e.owner, place, lease)
}

func (e *Exporter) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := e.cfg.Store.ReleaseFollower(ctx, follower, e.owner); err != nil {
		e.cfg.Log.Warn("release the export to Kafka; its lease ends by itself", "err", err)
	}
}
