package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"fanline/delivery/live"
	"fanline/waitlist"
)

// blockBits: a block of the line is 1,024 places, also below zero. delivery counts
// by the same blocks, or this does not compile.
const blockBits = 10

var _ [live.LineBlockPlaces]struct{} = [1 << blockBits]struct{}{}

// sumBits are the widths of line_sums, in bits of a place: each row of a width adds
// up 32 of the one below, and the widest is the whole line.
const (
	sumBits  = 15
	wideBits = 20
	lineBits = 62
)

// activeBefore is SQL for the number of active entries in the blocks of a show before
// one. It reads no more than a few dozen rows, and a row for each million places.
func activeBefore(show, block string) string {
	return strings.NewReplacer("$show", show, "$block", block).Replace(`(SELECT coalesce(sum(active), 0)::bigint FROM (
		SELECT active FROM line_sums WHERE show_no = $show AND bits = 20 AND block < $block >> 10
		UNION ALL
		SELECT active FROM line_sums WHERE show_no = $show AND bits = 15 AND block >= $block >> 10 << 5 AND block < $block >> 5
		UNION ALL
		SELECT active FROM line_blocks WHERE show_no = $show AND block >= $block >> 5 << 5 AND block < $block
		UNION ALL
		SELECT active FROM line_deltas WHERE show_no = $show AND block < $block) c)`)
}

// waitingIn is SQL for the number of those waiting in a show, dormant ones too.
func waitingIn(show string) string {
	return strings.ReplaceAll(`(SELECT coalesce(sum(active + dormant), 0)::bigint FROM (
		SELECT active, dormant FROM line_sums WHERE show_no = $show AND bits = 62
		UNION ALL
		SELECT active, dormant FROM line_deltas WHERE show_no = $show) c)`, "$show", show)
}

// positionSQL is SQL for the position of an active entry at a place of a show. It says
// who counts in the count, not as a condition: there it would allow the walk's index,
// which has places in order within a tier and party only.
func positionSQL(show, place string) string {
	bits := strconv.Itoa(blockBits)
	block := "(" + place + " >> " + bits + ")"
	return `1 + ` + activeBefore(show, block) + `
		+ (SELECT count(*) FILTER (WHERE b.state = 'waiting' AND NOT b.dormant)
			FROM entries b WHERE b.show_no = ` + show + ` AND b.place >= ` + block + ` << ` + bits + ` AND b.place < ` + place + `)`
}

// position counts the active entries before e: those of whole blocks by their counts,
// those in its own block by index. It is 0 for an entry that is not active.
func (s *Store) position(ctx context.Context, q querier, e *waitlist.Entry) error {
	e.Position = 0
	if !e.Active() {
		return nil
	}
	return q.QueryRow(ctx, `SELECT `+positionSQL("$1::int", "$2::bigint"), e.ShowNo, e.Place).Scan(&e.Position)
}

// positionsOf fills in those of entries in several shows, with one statement.
func (s *Store) positionsOf(ctx context.Context, list []waitlist.FanEntry) error {
	var at, shows []int32
	var places []int64
	for i := range list {
		if e := &list[i].Entry; e.Active() {
			at, shows, places = append(at, int32(i)), append(shows, e.ShowNo), append(places, e.Place)
		}
	}
	if len(at) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT k.i, `+positionSQL("k.show_no", "k.place")+`
		FROM unnest($1::int[], $2::int[], $3::bigint[]) k (i, show_no, place)`, at, shows, places)
	if err != nil {
		return err
	}
	var i int
	var position int64
	_, err = pgx.ForEachRow(rows, []any{&i, &position}, func() error { list[i].Position = position; return nil })
	return err
}

// positions fills in a page's. When the page holds every waiting entry of its
// stretch, one count is enough.
func (s *Store) positions(ctx context.Context, page []waitlist.Entry, whole bool) error {
	var next int64
	for i := range page {
		e := &page[i]
		if !e.Active() {
			continue
		}
		if next == 0 || !whole {
			if err := s.position(ctx, s.pool, e); err != nil {
				return err
			}
			next = e.Position
		}
		e.Position = next
		next++
	}
	return nil
}

// foldMost is how many changes one fold takes.
const foldMost = 50_000

// FoldPositions folds the changes of the block counts together, in one process at
// a time.
func (s *Store) FoldPositions(ctx context.Context) error {
	return s.inTx(ctx, "fold positions", func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, 0)`, lockFold).Scan(&mine); err != nil || !mine {
			return err
		}
		_, err := tx.Exec(ctx, `
			WITH taken AS (SELECT ctid FROM line_deltas LIMIT $1),
			gone AS (DELETE FROM line_deltas WHERE ctid = ANY(ARRAY(SELECT ctid FROM taken)) RETURNING *),
			summed AS (
				INSERT INTO line_sums AS b (show_no, bits, block, active, dormant)
				SELECT show_no, bits, block >> (bits - $2), sum(active), sum(dormant)
				FROM gone CROSS JOIN unnest($3::smallint[]) bits GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
				ON CONFLICT (show_no, bits, block) DO UPDATE
				SET active = b.active + excluded.active, dormant = b.dormant + excluded.dormant)
			INSERT INTO line_blocks AS b (show_no, block, active, dormant)
			SELECT show_no, block, sum(active), sum(dormant) FROM gone GROUP BY 1, 2 ORDER BY 1, 2
			ON CONFLICT (show_no, block) DO UPDATE
			SET active = b.active + excluded.active, dormant = b.dormant + excluded.dormant`,
			foldMost, blockBits, []int16{sumBits, wideBits, lineBits})
		return err
	})
}
