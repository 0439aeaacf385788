package notifier

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALoopWorksAtOnceAndThenEachInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		l := NewLoops(slog.New(slog.DiscardHandler))
		l.Every(time.Second, time.Minute, "work", func(context.Context) error {
			at = append(at, time.Since(began))
			return nil
		})
		time.Sleep(2500 * time.Millisecond)
		l.Stop()
		if len(at) != 3 || at[0] != 0 || at[2] != 2*time.Second {
			t.Errorf("worked after %v, want at once and after 1 s and 2 s", at)
		}
	})
}

func TestWorkThatTakesTooLongIsBrokenOffAndDoneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		times := 0
		l := NewLoops(slog.New(slog.DiscardHandler))
		l.Every(time.Second, 10*time.Second, "work", func(ctx context.Context) error {
			times++
			<-ctx.Done()
			return ctx.Err()
		})
		time.Sleep(25 * time.Second)
		l.Stop()
		if times != 3 {
			t.Errorf("began %d times in 25 s of work that is broken off after 10, want 3", times)
		}
	})
}

func TestOfSeveralFaultsInARowOneIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		l := NewLoops(slog.New(slog.NewTextHandler(&lines, nil)))
		l.Every(time.Second, time.Minute, "fold positions", func(context.Context) error { return errors.New("away") })
		time.Sleep(30 * time.Second)
		l.Stop()
		if got := lines.String(); strings.Count(got, "fold positions") != 1 {
			t.Errorf("logged %q, want one line", got)
		}
	})
}

func TestStopWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		finished := false
		l := NewLoops(slog.New(slog.DiscardHandler))
		l.Every(time.Second, time.Minute, "work", func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // what has to be put in order
			finished = true
			return nil
		})
		synctest.Wait()
		l.Stop()
		if !finished {
			t.Error("stop did not wait")
		}
		l.Stop()
	})
}

func TestALoopThatIsAddedAfterStopDoesNotWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLoops(slog.New(slog.DiscardHandler))
		l.Stop()
		l.Every(time.Second, time.Minute, "work", func(context.Context) error {
			t.Error("it worked")
			return nil
		})
		synctest.Wait()
	})
}
