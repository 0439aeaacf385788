package web

import (
	"context"
	"fmt"
	"io"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strings"
	"testing"

	"fanline/waitlist"
)

// endlessLines are the lines of an import, made as they are read.
type endlessLines struct {
	n, of int
	left  []byte
}

func (e *endlessLines) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		if e.n == e.of {
			return 0, io.EOF
		}
		e.n++
		e.left = fmt.Appendf(nil, "{\"fan_id\":\"f%d\"}%s\n", e.n, strings.Repeat(" ", 200))
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// heapLines takes an import in, looks whether a line is missing, and now and then what the heap holds.
type heapLines struct {
	Lines
	t         *testing.T
	next      int
	heap, top uint64
}

func (h *heapLines) NameFans(context.Context, []waitlist.Join) error { return nil }

func (h *heapLines) JoinMany(_ context.Context, _ string, batch []waitlist.Join) ([]waitlist.Joined, error) {
	for i := range batch {
		if h.next++; batch[i].FanID != fmt.Sprintf("f%d", h.next) {
			h.t.Errorf("%s in place of fan %d", batch[i].FanID, h.next)
		}
	}
	if h.next%20_000 == 0 {
		h.top = max(h.top, liveHeap())
	}
	joined := make([]waitlist.Joined, len(batch))
	for i := range joined {
		joined[i].New = true
	}
	return joined, nil
}

// liveHeap is what a collection of garbage leaves.
func liveHeap() uint64 {
	runtime.GC()
	s := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(s)
	return s[0].Value.Uint64()
}

// 300,000 lines are 64 MB, and 30 MB as joins. It does not run beside other tests, whose memory would count.
func TestAnImportHoldsNoMoreThanAFewBatches(t *testing.T) {
	const lines, most = 300_000, 6 << 20
	h := &heapLines{t: t}
	r := newRig(t, func(c *Config) { h.Lines, c.Lines = c.Lines, h })
	h.heap = liveHeap()
	got := r.imports("application/x-ndjson", &endlessLines{of: lines}).json(200)
	if got["imported"] != float64(lines) || h.next != lines {
		t.Errorf("%v, %d joined", got, h.next)
	}
	if h.top > h.heap+most {
		t.Errorf("the heap holds %d KB more during the import", (h.top-h.heap)>>10)
	}
	t.Logf("%d KB more", (int64(h.top)-int64(h.heap))>>10)
}
