package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
)

// event is a row of the stream. Live ones may concern connected fans.
type event struct {
	Type      notifier.EventType
	At        time.Time
	ShowNo    int32
	OpeningNo int64
	FanNo     int64
	Ref       int64 // of what is neither an opening nor a fan: an announcement
	N         int
	Live      bool
	Data      any
}

// record stores events and the jobs of their subscribers. It is one statement
// for the events, whatever their number.
func (s *Store) record(ctx context.Context, tx pgx.Tx, events ...event) error {
	if len(events) == 0 {
		return nil
	}
	n := len(events)
	ats, types := make([]time.Time, n), make([]string, n)
	shows, openings, fans, refs := make([]int32, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ns, lives, data := make([]int32, n), make([]bool, n), make([]*string, n)
	for i, e := range events {
		ats[i], types[i], shows[i], openings[i], fans[i] = e.At, string(e.Type), e.ShowNo, e.OpeningNo, e.FanNo
		refs[i], ns[i], lives[i] = e.Ref, int32(e.N), e.Live
		if e.Data != nil {
			text := string(jsonOf(e.Data))
			data[i] = &text
		}
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO events (at, type, show_no, opening_no, fan_no, ref, n, live, data)
		SELECT at, type, nullif(show_no, 0), nullif(opening_no, 0), nullif(fan_no, 0), nullif(ref, 0), nullif(n, 0), live, data::jsonb
		FROM unnest($1::timestamptz[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::int[], $8::bool[],
			$9::text[]) WITH ORDINALITY AS e (at, type, show_no, opening_no, fan_no, ref, n, live, data, i)
		ORDER BY i RETURNING id`, ats, types, shows, openings, fans, refs, ns, lives, data)
	ids, err := all(rows, err, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for i, e := range events {
		jobs := notifier.EventJobs(notifier.Event{
			ID: ids[i], Type: e.Type, At: e.At, ShowNo: e.ShowNo, OpeningNo: e.OpeningNo, FanNo: e.FanNo, Ref: e.Ref,
		})
		if len(jobs) == 0 {
			continue
		}
		if _, err := s.jobs.InsertManyTx(ctx, tx, jobs); err != nil {
			return err
		}
	}
	return nil
}
