package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// history notes what starts and stops.
type history struct{ acts []string }

func (h *history) part(name string, startErr, stopErr error) part {
	return part{
		name,
		func(context.Context) error { h.acts = append(h.acts, "start "+name); return startErr },
		func(context.Context) error { h.acts = append(h.acts, "stop "+name); return stopErr },
	}
}

func TestPartsStopInTheOtherOrderThanTheyStarted(t *testing.T) {
	t.Parallel()
	h := &history{}
	parts := []part{h.part("store", nil, nil), h.part("queue", nil, nil), h.part("hub", nil, nil)}
	parts[1].start = nil // it works from when it was made
	n, err := start(parts)
	if n != 3 || err != nil {
		t.Fatalf("%d started, %v", n, err)
	}
	stop(slog.New(slog.DiscardHandler), parts, time.Minute)
	if want := []string{"start store", "start hub", "stop hub", "stop queue", "stop store"}; !slices.Equal(h.acts, want) {
		t.Errorf("%v, want %v", h.acts, want)
	}
}

func TestAPartThatCannotStartKeepsTheOthersFromStarting(t *testing.T) {
	t.Parallel()
	h, away := &history{}, errors.New("away")
	n, err := start([]part{h.part("store", nil, nil), h.part("queue", away, nil), h.part("hub", nil, nil)})
	if n != 1 || !errors.Is(err, away) {
		t.Errorf("%d started, %v; want the one before", n, err)
	}
	if want := []string{"start store", "start queue"}; !slices.Equal(h.acts, want) {
		t.Errorf("%v, want %v", h.acts, want)
	}
}

func TestAPartThatCannotStopIsLoggedAndTheOthersStop(t *testing.T) {
	t.Parallel()
	h, lines := &history{}, &strings.Builder{}
	log := slog.New(slog.NewTextHandler(lines, nil))
	stop(log, []part{h.part("store", nil, nil), h.part("hub", nil, errors.New("cut off"))}, time.Minute)
	if want := []string{"stop hub", "stop store"}; !slices.Equal(h.acts, want) {
		t.Errorf("%v, want %v", h.acts, want)
	}
	if got := lines.String(); !strings.Contains(got, "stop hub") || !strings.Contains(got, "cut off") {
		t.Errorf("logged %q", got)
	}
}
