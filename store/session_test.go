package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fanline/waitlist"
)

func TestASessionLastsFromItsLastUse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, key := t.Context(), []byte("key")
	who := func() string {
		t.Helper()
		who, err := b.store.Session(ctx, [][]byte{[]byte("another"), key}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return who
	}
	if got := who(); got != "" {
		t.Errorf("before the login: %q", got)
	}
	if err := b.store.StartSession(ctx, []byte("name"), []byte("here"), key, "kim", time.Hour); err != nil {
		t.Fatal(err)
	}
	for range 3 { // 90 minutes, in halves of the hour
		b.exec(`UPDATE staff_sessions SET expires_at = expires_at - interval '30 minutes'`)
		if got := who(); got != "kim" {
			t.Fatalf("half an hour after the last use: %q", got)
		}
	}
	b.exec(`UPDATE staff_sessions SET expires_at = expires_at - interval '60 minutes'`)
	if got := who(); got != "" {
		t.Errorf("an hour after the last use: %q", got)
	}
}

func TestTriesAtTheSameTimePassNoLimitTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	limits := waitlist.LoginLimits{Window: time.Minute, PerPair: 5, PerAddress: 100, PerName: 100, InAll: 100, FamiliarFor: time.Hour}
	var through atomic.Int64
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			wait, err := b.store.TryLogin(t.Context(), []byte("name"), []byte("here"), limits)
			if err != nil {
				t.Error(err)
			}
			if wait == 0 {
				through.Add(1)
			} else if wait > time.Minute {
				t.Errorf("wait %s", wait)
			}
		})
	}
	wg.Wait()
	if n := through.Load(); n != 5 {
		t.Errorf("%d tries went through, want 5", n)
	}
	b.exec(`UPDATE staff_attempts SET at = at - interval '1 minute'`)
	if wait, err := b.store.TryLogin(t.Context(), []byte("name"), []byte("here"), limits); wait != 0 || err != nil {
		t.Errorf("a window later: %s, %v", wait, err)
	}
}
