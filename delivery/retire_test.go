package delivery

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fanline/notifier"
)

// guard is a RetireGuard with what it logged.
func guard() (*RetireGuard, *bytes.Buffer) {
	var log bytes.Buffer
	return NewRetireGuard(slog.New(slog.NewTextHandler(&log, nil))), &log
}

// noted notes a verdict and says whether it may retire its address.
func (g *RetireGuard) noted(c notifier.Channel, o Outcome) bool {
	g.Note(c, o)
	return g.May(c)
}

// times notes verdicts and returns how many may retire.
func (g *RetireGuard) times(n int, c notifier.Channel, o Outcome) (may int) {
	for range n {
		if g.noted(c, o) {
			may++
		}
	}
	return may
}

func TestASingleDeadTokenIsRetired(t *testing.T) {
	t.Parallel()
	g, log := guard()
	for _, o := range []Outcome{Accepted, AddressDead, OtherEnvironment, OtherProject} {
		if !g.noted(notifier.APNs, o) {
			t.Errorf("%s is not believed", o)
		}
	}
	if log.Len() > 0 || g.Alarms() > 0 {
		t.Errorf("alarm: %s", log)
	}
}

func TestAThousandDeadTokensAtOnceAreAnAlarmAndNoPurge(t *testing.T) {
	t.Parallel()
	g, log := guard()
	if may := g.times(1000, notifier.APNs, OtherEnvironment); may > retireLeast {
		t.Errorf("%d of 1,000 were retired", may)
	}
	if g.Alarms() != 1 || g.May(notifier.APNs) || strings.Count(log.String(), "level=ERROR") != 1 {
		t.Errorf("alarms %d, log:\n%s", g.Alarms(), log)
	}
	if !g.noted(notifier.FCM, AddressDead) {
		t.Error("another channel is not believed either")
	}
}

func TestOneInTwentyDeadIsBelievedOnABusyChannel(t *testing.T) {
	t.Parallel()
	g, _ := guard()
	for range 1000 {
		g.times(20, notifier.FCM, Accepted)
		if !g.noted(notifier.FCM, AddressDead) {
			t.Fatal("4.8 % are too many")
		}
	}
	if may := g.times(200, notifier.FCM, AddressDead); may > 60 || g.Alarms() == 0 {
		t.Errorf("%d of 200 in a row were retired", may)
	}
}

// What the provider did not judge does not make the dead fewer in proportion.
func TestOnlyVerdictsAboutAddressesAreCounted(t *testing.T) {
	t.Parallel()
	g, _ := guard()
	for _, o := range []Outcome{Retry, Unsure, Throttled, AddressThrottled, Misconfigured} {
		g.times(10_000, notifier.APNs, o)
	}
	g.times(retireLeast, notifier.APNs, AddressDead)
	if g.noted(notifier.APNs, AddressDead) {
		t.Error("refused calls were counted as good addresses")
	}
}

func TestRetiringGoesOnWhenTheRiseIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, log := guard()
		g.times(100, notifier.APNs, AddressDead)
		time.Sleep(retireWindow - 2*retireStep)
		if g.noted(notifier.APNs, AddressDead) || g.Alarms() != 1 {
			t.Error("over before the window is")
		}
		time.Sleep(2 * retireStep)
		if g.Alarms() != 0 || !g.noted(notifier.APNs, AddressDead) {
			t.Error("not over after the window")
		}
		if !strings.Contains(log.String(), "retired again") {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestManySendersAtOnceShareOneCount(t *testing.T) {
	t.Parallel()
	g, _ := guard()
	var may atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { may.Add(int64(g.times(100, notifier.FCM, AddressDead))) })
	}
	wg.Wait()
	if may.Load() > retireLeast || g.May(notifier.FCM) {
		t.Errorf("%d were retired, want %d at most", may.Load(), retireLeast)
	}
}
