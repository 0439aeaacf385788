package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pieces keeps what each write brought.
type pieces struct {
	mu  sync.Mutex
	all []string
}

func (p *pieces) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, string(b))
	return len(b), nil
}

func (p *pieces) is(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if fmt.Sprint(p.all) != fmt.Sprint(want) {
		t.Errorf("written %q, not %q", p.all, want)
	}
}

func TestLinesOfTheLogAreWrittenTogetherWithinATenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out pieces
		b := newLogBuffer(&out)
		for round := range 2 {
			fmt.Fprintln(b, "one", round)
			fmt.Fprintln(b, "two", round)
			time.Sleep(logPatience - time.Nanosecond)
			synctest.Wait()
			out.is(t, []string{"one 0\ntwo 0\n"}[:round]...)
			time.Sleep(time.Nanosecond)
			synctest.Wait()
		}
		out.is(t, "one 0\ntwo 0\n", "one 1\ntwo 1\n")
	})
}

func TestAWarningIsWrittenAtOnceBehindWhatWaited(t *testing.T) {
	t.Parallel()
	var out pieces
	b := newLogBuffer(&out)
	plain := slog.New(urgentHandler{slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}), b}).With("k", 1)
	plain.Info("first")
	out.is(t)
	plain.Warn("second")
	out.is(t, "level=INFO msg=first k=1\nlevel=WARN msg=second k=1\n")
}

func TestTheLogHoldsNoMoreThanItsBoundAndKeepsAllLinesInOrder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newLogBuffer(&out)
	var want strings.Builder
	for i := range 3000 {
		line := fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i%200))
		if i == 1500 {
			line = strings.Repeat("y", 2*logWaiting) + "\n"
		}
		want.WriteString(line)
		if _, err := b.Write([]byte(line)); err != nil || len(b.waiting) > logWaiting {
			t.Fatal(err, len(b.waiting))
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = b.Write([]byte("after\n"))
	if out.String() != want.String()+"after\n" {
		t.Error("lines are missing or out of order")
	}
}
