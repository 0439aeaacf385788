package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	"fanline/delivery/kafka"
	"fanline/notifier"
	"fanline/store"
	"fanline/web"
)

// checkTime bounds each look at a dependency.
const checkTime = 4 * time.Second

type checkCommand struct {
	settings
	Instance string `help:"Ask the running instance at this address instead, such as http://127.0.0.1:8080."`
}

// Run looks at every configured dependency, or asks a running instance whether it
// is ready, and fails when something cannot be used. A channel without settings is off,
// which is no failure.
func (c *checkCommand) Run(ctx context.Context) error {
	if c.Instance != "" {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		defer cancel()
		return askInstance(ctx, c.Instance)
	}
	if err := c.check(); err != nil {
		return err
	}
	rows := []checkRow{{name: "postgres", look: c.checkPostgres}, {name: "redis", look: c.checkRedis}, {name: "lanes", look: c.checkLanes}}
	for _, ch := range c.channels() {
		rows = append(rows, ch.row())
	}
	rows = append(rows, c.kafkaRow())
	if c.FanJWKSURL != "" {
		rows = append(rows, checkRow{name: "fan keys", look: func(ctx context.Context) error { return web.CheckJWKS(ctx, c.FanJWKSURL) }})
	}
	return printRows(ctx, rows)
}

// checkRow is one line of the table.
type checkRow struct {
	name string
	look func(context.Context) error
	off  string // why it is not looked at; "" where it is
}

// kafkaRow is how Kafka is looked at.
func (c *checkCommand) kafkaRow() checkRow {
	if c.KafkaBrokers == "" {
		return checkRow{name: "kafka", off: "set FANLINE_KAFKA_BROKERS and FANLINE_KAFKA_TOPIC"}
	}
	return checkRow{name: "kafka", look: func(ctx context.Context) error {
		return kafka.Check(ctx, list(c.KafkaBrokers), c.KafkaTopic)
	}}
}

// row is how a channel is looked at.
func (c *channel) row() checkRow {
	if !c.on() {
		return checkRow{name: string(c.name), off: "set " + c.needs}
	}
	return checkRow{name: string(c.name), look: func(ctx context.Context) error {
		p, err := c.make()
		if err != nil {
			return c.bad(err)
		}
		defer p.Close()
		if p, ok := p.(interface{ Check(context.Context) error }); ok {
			return p.Check(ctx)
		}
		return nil // Web Push: the keys fit, and whom it calls each browser says
	}}
}

func printRows(ctx context.Context, rows []checkRow) error {
	store.LogRedis(slog.New(slog.DiscardHandler)) // its words on each dial would stand between the lines
	failed, looked := 0, 0
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if r.off != "" {
			fmt.Fprintf(w, "%s\toff\t%s\n", r.name, r.off)
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		err := r.look(ctx)
		cancel()
		looked++
		if err != nil {
			failed++
			fmt.Fprintf(w, "%s\tfailed\t%v\n", r.name, err)
			continue
		}
		fmt.Fprintf(w, "%s\tok\t\n", r.name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of the %d that are set up cannot be used", failed, looked)
	}
	return nil
}

func (c *checkCommand) checkPostgres(ctx context.Context) error {
	return c.withStore(ctx, func(s *store.Store) error { return s.Migrated(ctx) })
}

// checkLanes finds work that no process does. No instance can be unready for that, which
// would take those away that do the rest.
func (c *checkCommand) checkLanes(ctx context.Context) error {
	return c.withStore(ctx, func(s *store.Store) error {
		loads, err := s.QueueLoads(ctx)
		return cmp.Or(err, notifier.Unserved(loads))
	})
}

func (c *checkCommand) withStore(ctx context.Context, look func(*store.Store) error) error {
	log, _, err := c.logger(io.Discard)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: c.DatabaseURL, Log: log})
	if err != nil {
		return err
	}
	defer s.Close()
	return look(s)
}

func (c *checkCommand) checkRedis(ctx context.Context) error {
	r, err := store.OpenRedis(c.RedisURL)
	if err != nil {
		return &badConfig{"REDIS_URL", err.Error()}
	}
	defer r.Close()
	return r.Ping(ctx).Err()
}

func askInstance(ctx context.Context, base string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return &badConfig{"--instance", err.Error()}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		fmt.Println("ready")
		return nil
	}
	var problem struct{ Detail string }
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&problem); err != nil || problem.Detail == "" {
		return errors.New("not ready: " + res.Status)
	}
	return errors.New("not ready: " + problem.Detail)
}
