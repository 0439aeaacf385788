package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// benchmark is one of the list.
type benchmark struct {
	name, what string
	run        func(ctx context.Context, b *bench) error
	lines      bool // its database has the lines of bigline.go
}

// benchmarks are all of them, in the order in which they run.
var benchmarks = []benchmark{
	{"joins", "joins gathered, at the store's call and over HTTP", joins, false},
	{"claims", "claims on one hot opening, at the store's call and over HTTP", claims, false},
	{"wave_write", "the inbox rows of a wave of strategy write, and its whole decision", waveWrite, false},
	{"first_frame", "from the report of a seat to the fan's frame, on one instance and on two", firstFrame, false},
	{"replay", "a fan who comes back after 50 missed items", replay, false},
	{"slow_reader", "what one socket that is not read costs 999 others under a burst", slowReader, false},
	{"rollover", "from the lapse of a turn to the next fan's frame", rollover, false},
	{"verdict", "verdicts over HTTP, against one Redis GET behind a bare handler, and in a line of two million", verdicts, true},
	{"inbox", "first pages of inboxes over HTTP, against the same", inboxes, true},
	{"position", "a fan's place in a line of two million", position, true},
	{"admin", "the staff's overview and show page of a line of two million, against small ones", adminPages, true},
	{"announce", "an announcement to a line of two million, and a fan's inbox after it", announce, true},
	{"stampede", "20,000 seats at once, whose fans claim the moment they may", stampede, true},
	{"crossover", "what write and read cost, against the size of a wave", crossover, false},
	{"import", "an import of many new fans", imports, false},
	{"limiter", "permits of a provider's limit", limits, false},
	{"urgent", "urgent messages with nothing else to do, beside a blast, and beside a service that hangs", urgent, false},
	{"blast", "an announcement by push, and its memory, against one job a fan", blast, false},
	{"limits", "a provider's limit that two instances share while ten times as much is wanted", providerLimits, false},
	{"flat", "a freed seat in lines of 40 to two million: statements, rows, bytes, time", flat, true},
}

// options are the flags.
type options struct {
	run      string
	json     bool
	quick    bool
	line     int
	audience int
}

func main() {
	if redis := os.Getenv(bareRedis); redis != "" {
		if err := serveBare(redis); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.run, "run", "", "benchmarks to run, as NAME,...; all without it:\n"+list())
	flag.BoolVar(&o.json, "json", false, "print one JSON object a line in place of the table")
	flag.BoolVar(&o.quick, "quick", false, "a tenth of the pairs: for trying things, not for figures to keep")
	flag.IntVar(&o.line, "line", 2_000_000, "fans in the largest of the lines that benchmarks of size are given, above 40000")
	flag.IntVar(&o.audience, "audience", 200_000, "fans with devices whom the blasts of urgent, blast and limits go to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func list() string {
	var b strings.Builder
	for _, m := range benchmarks {
		fmt.Fprintf(&b, "  %-12s %s\n", m.name, m.what)
	}
	return b.String()
}

// chosen are the benchmarks that -run names.
func chosen(names string) ([]benchmark, error) {
	if names == "" {
		return benchmarks, nil
	}
	var picked []benchmark
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(benchmarks, func(m benchmark) bool { return m.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no benchmark %q; there are:\n%s", name, list())
		}
		picked = append(picked, benchmarks[i])
	}
	return picked, nil
}

// run runs the benchmarks and prints what they found, also when one of them fails.
func run(ctx context.Context, o options) (err error) {
	picked, err := chosen(o.run)
	if err != nil {
		return err
	}
	if o.line <= 40_000 {
		return fmt.Errorf("-line must be above 40000, not %d", o.line)
	}
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var results []result
	for _, m := range picked {
		found, err := r.bench(ctx, m)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", m.name, err), show(o, r, results))
		}
		results = append(results, found...)
	}
	return show(o, r, results)
}

func show(o options, r *rig, results []result) error {
	if o.json {
		return lines(os.Stdout, results)
	}
	fmt.Printf("\n%s\n\n", r.machine)
	return table(os.Stdout, results)
}
