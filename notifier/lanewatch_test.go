package notifier

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type fakeLoads struct {
	mu   sync.Mutex
	list []QueueLoad
}

func (f *fakeLoads) QueueLoads(context.Context) ([]QueueLoad, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list), nil
}

func (f *fakeLoads) running(i, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list[i].Running = n
}

func TestAQueueThatNobodyServesIsLoggedOnceUntilItIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		loads := &fakeLoads{list: []QueueLoad{
			{Queue: "turns_apns", Waiting: 3, Oldest: time.Minute, Running: 1},
			{Queue: "turns_sms", Waiting: 3, Oldest: time.Minute, PerSecond: 0.2},
			{Queue: "bulk_apns", Waiting: 3, Oldest: time.Minute, Paused: true},
			{Queue: "lane_turns", Waiting: 3, Oldest: 14 * time.Second},
			{Queue: "bulk_email", Waiting: 3, Oldest: 20 * time.Second},
		}}
		w := NewLaneWatch(loads, slog.New(slog.NewTextHandler(&log, nil)))
		w.Start()
		defer w.Stop()
		time.Sleep(25 * time.Second)
		synctest.Wait()
		const says = "level=ERROR msg=\"no process serves the queue bulk_email, whose oldest job has been due for 20s: one at least needs its lane in FANLINE_LANES"
		if got := log.String(); strings.Count(got, "level=ERROR") != 1 || !strings.Contains(got, says) {
			t.Errorf("the log says:\n%s", got)
		}
		if got := w.Loads(); len(got) != 5 || got[4].Oldest != 20*time.Second {
			t.Errorf("the loads are %+v", got)
		}
		loads.running(4, 1)
		time.Sleep(10 * time.Second)
		loads.running(4, 0)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
			t.Errorf("after it was served and is not again, %d errors, want 2", n)
		}
	})
}
