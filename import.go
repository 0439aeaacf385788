package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"fanline/sim"
	"fanline/waitlist"
)

type importCommand struct {
	File   string `arg:"" help:"Lines of NDJSON or CSV with fan_id, party_size, tier and joined_at; - is the standard input."`
	Show   string `required:"" help:"The show's id."`
	Format string `enum:"auto,ndjson,csv" default:"auto" help:"ndjson or csv; auto goes by the file's name, and takes another for ndjson."`
	URL    string `name:"url" default:"http://127.0.0.1:8080" help:"Where an instance serves."`
	APIKey string `name:"api-key" env:"FANLINE_API_KEY" help:"The ticketing app's key (default: that of fanline dev)."`
}

// Run imports the file, in the order of its lines. It may be run again after an
// interruption: who is in line already keeps the place. It fails when a line was
// rejected; the others are in.
func (c *importCommand) Run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	file, size, err := c.open()
	if err != nil {
		return &badConfig{"FILE", err.Error()}
	}
	defer file.Close()
	key := c.APIKey
	if key == "" {
		key = devKey
	}
	app := sim.NewApp([]string{c.URL}, key)
	defer app.Close()
	bar := sim.NewImportBar(os.Stderr, isTerminal(os.Stderr), size)
	done, err := app.ImportFile(ctx, c.Show, c.contentType(), file, bar.Set)
	bar.Done(done)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "stopped; run it again to go on where it was")
		return err
	case err != nil:
		return fmt.Errorf("after %d lines: %w", done.Lines, err)
	case done.Rejected == 1:
		return errors.New("1 line was rejected; the others are in line")
	case done.Rejected > 0:
		return fmt.Errorf("%d lines were rejected; the others are in line", done.Rejected)
	}
	return nil
}

func (c *importCommand) check() error {
	if err := waitlist.CheckID("--show", c.Show); err != nil {
		return &badConfig{"--show", err.Error()}
	}
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &badConfig{"--url", "must be an address such as http://127.0.0.1:8080"}
	}
	return nil
}

// open opens the file; size is 0 where it is not known.
func (c *importCommand) open() (file io.ReadCloser, size int64, err error) {
	if c.File == "-" {
		return os.Stdin, 0, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", c.File)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (c *importCommand) contentType() string {
	if c.Format == "csv" || c.Format == "auto" && strings.EqualFold(filepath.Ext(c.File), ".csv") {
		return sim.CSV
	}
	return sim.NDJSON
}
