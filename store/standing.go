package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/notifier"
)

// standing drops the turns that never were among those that have opened, and
// makes the others what they are by now. The hub looks itself before it pushes
// those that have not.
func (f *Feed) standing(ctx context.Context, notices []live.Notice, now time.Time) ([]live.Notice, error) {
	var keys []live.TurnKey
	for i := range notices {
		if !notices[i].At.After(now) {
			keys = append(keys, notices[i].Turn)
		}
	}
	if len(keys) == 0 {
		return notices, nil
	}
	states, err := f.Standing(ctx, keys)
	if err != nil {
		return nil, err
	}
	k := 0
	return slices.DeleteFunc(notices, func(n live.Notice) bool {
		if n.At.After(now) {
			return false
		}
		n.Item.State = states[k]
		k++
		return n.Item.State == ""
	}), nil
}

// Standing returns the present state of turns.
func (f *Feed) Standing(ctx context.Context, keys []live.TurnKey) ([]notifier.TurnState, error) {
	states := make([]notifier.TurnState, len(keys))
	if len(keys) == 0 {
		return states, nil
	}
	openings, enos := make([]int64, len(keys)), make([]int64, len(keys))
	for i, k := range keys {
		openings[i], enos[i] = k.OpeningNo, k.EntryNo
	}
	rows, err := f.s.pool.Query(ctx, `
		WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
		ask AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY k (opening_no, eno, i)),
		turn AS (
			SELECT k.i, now.at AS moment, `+turnFacts("m.ks[p.i]", "now.at")+`
			FROM now CROSS JOIN ask k JOIN openings o USING (opening_no)
			JOIN wave_members m ON m.show_no = o.show_no AND m.chunk = `+chunkOf("k.eno")+` AND m.opening_no = k.opening_no
			CROSS JOIN LATERAL (SELECT array_position(m.enos, k.eno) AS i) p
			JOIN waves w ON w.opening_no = m.opening_no AND w.n = m.n
			`+turnActs("k.opening_no", "k.eno")+`
			WHERE p.i IS NOT NULL)
		SELECT i, `+turnState("moment")+` FROM turn WHERE `+turnWas,
		openings, enos)
	if err != nil {
		return nil, err
	}
	var i int
	var state notifier.TurnState
	_, err = pgx.ForEachRow(rows, []any{&i, &state}, func() error { states[i-1] = state; return nil })
	return states, err
}
