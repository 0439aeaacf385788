package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	"fanline/store"
)

// checkTime bounds each look at a dependency.
const checkTime = 4 * time.Second

type checkCommand struct {
	settings
	Instance string `help:"Ask the running instance at this address instead, such as http://127.0.0.1:8080."`
}

// Run looks at every configured dependency, or asks a running instance whether it
// is ready, and fails when something is missing.
func (c *checkCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if c.Instance != "" {
		return askInstance(ctx, c.Instance)
	}
	if err := c.check(); err != nil {
		return err
	}
	rows := []struct {
		name string
		look func(context.Context) error
	}{
		{"postgres", c.checkPostgres},
		{"redis", c.checkRedis},
	}
	failed := 0
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		err := r.look(ctx)
		if err != nil {
			failed++
			fmt.Fprintf(w, "%s\tmissing\t%v\n", r.name, err)
			continue
		}
		fmt.Fprintf(w, "%s\tok\t\n", r.name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d are missing", failed, len(rows))
	}
	return nil
}

func (c *checkCommand) checkPostgres(ctx context.Context) error {
	log, err := c.logger(io.Discard)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: c.DatabaseURL, Log: log})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Migrated(ctx)
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
