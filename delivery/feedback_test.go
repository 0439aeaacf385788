package delivery

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fanline/notifier"
)

// toldStore plays the database.
type toldStore struct {
	told   []Told
	heard  Heard
	err    error
	early  []Heard
	counts map[notifier.Channel]ReportCounts
}

func (s *toldStore) Tell(_ context.Context, t *Told) (Heard, error) {
	s.told = append(s.told, *t)
	return s.heard, s.err
}

func (s *toldStore) TellEarly(context.Context, int) ([]Heard, error) { return s.early, nil }

func (s *toldStore) ReportCounts(context.Context) (map[notifier.Channel]ReportCounts, error) {
	return s.counts, nil
}

type readerOf struct {
	told Told
	err  error
}

func (r readerOf) Read(time.Time, *Call) (Told, error) { return r.told, r.err }

type mayRetire bool

func (mayRetire) Note(notifier.Channel, Outcome) {}
func (m mayRetire) May(notifier.Channel) bool    { return bool(m) }

type realTime struct{}

func (realTime) Now() time.Time { return time.Now() }

type hearing struct {
	*Feedback
	store  *toldStore
	slowed []notifier.Channel
	looked []string
	log    *bytes.Buffer
}

func newHearing(t *testing.T, r CallReader, may bool) *hearing {
	t.Helper()
	h := &hearing{store: &toldStore{}, log: &bytes.Buffer{}}
	f, err := NewFeedback(FeedbackConfig{
		Store: h.store, Retire: mayRetire(may), Clock: realTime{}, Readers: map[string]CallReader{"s": r},
		Slow:   func(_ context.Context, c notifier.Channel, _ time.Duration) { h.slowed = append(h.slowed, c) },
		Opened: func(_ context.Context, fan string) error { h.looked = append(h.looked, fan); return nil },
		Log:    slog.New(slog.NewTextHandler(h.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Feedback = f
	return h
}

func textReport(v Outcome) Told {
	return Told{Report: &Report{Channels: []notifier.Channel{notifier.SMS}, ProviderID: "SM1", Phase: notifier.PhaseFailed, Verdict: v}}
}

func TestNoAddressIsStoppedWhileTooManyAreCalledDead(t *testing.T) {
	t.Parallel()
	for may, want := range map[bool]Outcome{true: AddressDead, false: ""} {
		h := newHearing(t, readerOf{told: textReport(AddressDead)}, may)
		if err := h.Take(t.Context(), "s", &Call{}); err != nil || h.store.told[0].Report.Verdict != want || h.store.told[0].Service != "s" {
			t.Errorf("may %v: %+v, %v", may, h.store.told, err)
		}
		if kept := h.Stats().Kept.Load(); (kept == 0) != may {
			t.Errorf("may %v: %d kept", may, kept)
		}
	}
}

func TestAFullQueueLowersTheLimitOnce(t *testing.T) {
	t.Parallel()
	h := newHearing(t, readerOf{told: textReport(Throttled)}, true)
	h.store.heard = Heard{Found: true, News: true, Channel: notifier.SMS, Phase: notifier.PhaseFailed}
	_ = h.Take(t.Context(), "s", &Call{})
	h.store.heard.News = false
	_ = h.Take(t.Context(), "s", &Call{})
	if len(h.slowed) != 1 || h.slowed[0] != notifier.SMS {
		t.Errorf("slowed %v", h.slowed)
	}
	if n := h.Stats().All()[ReportCount{notifier.SMS, "failed"}]; n != 1 {
		t.Errorf("counted %d", n)
	}
}

func TestAnEarlyReportThatIsFoundCountsAndIsALook(t *testing.T) {
	t.Parallel()
	h := newHearing(t, nil, true)
	h.store.early = []Heard{{Found: true, News: true, Channel: notifier.APNs, Phase: notifier.PhaseOpened, Opened: "ada"}}
	if err := h.tryEarly(t.Context()); err != nil || len(h.looked) != 1 || h.looked[0] != "ada" {
		t.Errorf("looked %v, %v", h.looked, err)
	}
	if n := h.Stats().All()[ReportCount{notifier.APNs, "opened"}]; n != 1 {
		t.Errorf("counted %d", n)
	}
}

func TestWhatIsNotGenuineReachesNobodyAndIsCounted(t *testing.T) {
	t.Parallel()
	h := newHearing(t, readerOf{told: textReport(AddressDead), err: ErrNotGenuine}, true)
	for _, service := range []string{"s", "unknown"} {
		if err := h.Take(t.Context(), service, &Call{}); !errors.Is(err, ErrNotGenuine) {
			t.Errorf("%s: %v", service, err)
		}
	}
	if len(h.store.told) != 0 || h.Stats().Forged.Load() != 2 {
		t.Errorf("told %v, %d forged", h.store.told, h.Stats().Forged.Load())
	}
}

func TestRatesAboveWhatMailServicesBearAreAnAlarmOnce(t *testing.T) {
	t.Parallel()
	h := newHearing(t, nil, true)
	for _, c := range []struct {
		n      ReportCounts
		alarms int // so far
	}{
		{ReportCounts{Delivered: 50, Bounced: 20, Complained: 5}, 0}, // too few to tell
		{ReportCounts{Delivered: 950, Bounced: 50, Complained: 1}, 0},
		{ReportCounts{Delivered: 940, Bounced: 60}, 1},
		{ReportCounts{Delivered: 930, Bounced: 70}, 1},
		{ReportCounts{Delivered: 1000, Complained: 2}, 2},
		{ReportCounts{Delivered: 940, Bounced: 60, Complained: 2}, 3},
	} {
		h.store.counts = map[notifier.Channel]ReportCounts{notifier.Email: c.n, notifier.SMS: {Failed: 1000, Bounced: 1000}}
		if err := h.watch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(h.log.String(), "level=ERROR"); got != c.alarms {
			t.Errorf("%+v: %d alarms, want %d\n%s", c.n, got, c.alarms, h.log)
		}
	}
	if r := h.Rates(notifier.Email); r.Bounces != 0.06 || r.Complaints != 0.002 || r.Of != 1000 {
		t.Errorf("rates %+v", r)
	}
}
