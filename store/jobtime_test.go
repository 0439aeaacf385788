package store

import (
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
