package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDelayStaysBelowTheDoubledBaseAndTheCap(t *testing.T) {
	almostOne := func() float64 { return 0.999999 }
	b := Backoff{Base: 100 * time.Millisecond, Cap: 2 * time.Second, Rand: almostOne}
	for try, limit := range []time.Duration{100, 200, 400, 800, 1600, 2000, 2000} {
		limit *= time.Millisecond
		if d := b.Delay(try); d >= limit || d < limit*99/100 {
			t.Errorf("try %d waits %v, want just below %v", try, d, limit)
		}
	}
	if d := b.Delay(1 << 20); d >= b.Cap || d <= 0 {
		t.Errorf("a late try waits %v", d)
	}
}

func TestDelayCanBeNone(t *testing.T) {
	b := Backoff{Rand: func() float64 { return 0 }}
	if d := b.Delay(5); d != 0 {
		t.Errorf("full jitter starts at %v, want 0", d)
	}
}

func TestDelayIsSpreadOverTheWholeSpan(t *testing.T) {
	var low, high int
	for range 1000 {
		switch d := (Backoff{Base: time.Second, Cap: time.Second}).Delay(0); {
		case d < 0 || d >= time.Second:
			t.Fatalf("waits %v, outside of the span", d)
		case d < 250*time.Millisecond:
			low++
		case d >= 750*time.Millisecond:
			high++
		}
	}
	if low < 150 || high < 150 {
		t.Errorf("of 1000 waits %d are in the first quarter and %d in the last", low, high)
	}
}

func TestPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := pause(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("paused %v, %v", time.Since(start), err)
		}
	})
}
