package store

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
)

func TestJobsFallDueByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	clock := &Clock{start: time.Now()}
	database := time.Now().Add(-5 * time.Second) // this machine is ahead
	clock.offset.Store(database.UnixNano())
	var j jobTime
	machine, later := time.Now(), time.Now().Add(time.Minute)
	for name, c := range map[string]struct {
		at   *time.Time
		want time.Time
	}{"at once": {nil, database}, "now": {&machine, database}, "later": {&later, database.Add(time.Minute)}} {
		job := &rivertype.JobInsertParams{ScheduledAt: c.at}
		if err := j.InsertBegin(t.Context(), job); err != nil || job.ScheduledAt != c.at {
			t.Errorf("%s, without a clock: %v, %v", name, job.ScheduledAt, err)
		}
		j.clock.Store(clock)
		if err := j.InsertBegin(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if off := job.ScheduledAt.Sub(c.want); off < -time.Second || off > time.Second {
			t.Errorf("%s: due %v, %v off", name, job.ScheduledAt, off)
		}
		j.clock.Store(nil)
	}
}

func TestAClockThatIsOffIsToldOnce(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	c := &Clock{s: &Store{log: slog.New(slog.NewTextHandler(&said, nil))}, start: time.Now()}
	c.offset.Store(time.Now().UnixNano())
	times := func() int { return strings.Count(said.String(), "this machine's clock is not the database's") }
	for i, step := range []struct {
		ahead time.Duration
		want  int
	}{{0, 0}, {time.Second, 0}, {-time.Minute, 1}, {-time.Minute, 1}, {0, 1}, {5 * time.Second, 2}} {
		if c.compare(c.Now().Add(step.ahead)); times() != step.want {
			t.Errorf("step %d: told %d times, want %d:\n%s", i, times(), step.want, said.String())
		}
	}
}
