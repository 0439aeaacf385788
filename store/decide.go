package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

// DecideShow lets time take effect and makes the show's next waves: the only place
// where either happens. Whatever can change what is decided left a due row, so that
// a second decider, who finds none, has nothing to do.
func (s *Store) DecideShow(ctx context.Context, no int32) (made *waitlist.Decided, err error) {
	err = s.inTx(ctx, "decide", func(tx pgx.Tx) error {
		made = nil
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, lockDecide, no).Scan(&mine); err != nil || !mine {
			return err
		}
		var asked bool
		if err := tx.QueryRow(ctx,
			`SELECT EXISTS (SELECT FROM due WHERE show_no = $1 AND at <= clock_timestamp())`, no).Scan(&asked); err != nil || !asked {
			return err
		}
		if err := lockExclusive(ctx, tx, no); err != nil {
			return err
		}
		d := &decision{s: s, tx: tx, made: &waitlist.Decided{ShowNo: no}}
		if err := d.run(ctx); err != nil {
			return err
		}
		made = d.made
		return nil
	})
	if err != nil || made == nil {
		return nil, err
	}
	// Somebody who found the lock taken relies on this look.
	return made, s.pool.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM due WHERE show_no = $1 AND at <= clock_timestamp())`, no).Scan(&made.Again)
}

// decision is one decision in progress.
type decision struct {
	s    *Store
	tx   pgx.Tx
	made *waitlist.Decided
	sit  waitlist.Situation
	// before is the moment for what takes effect before the walk: the decision
	// itself sees it already.
	before moment
}

func (d *decision) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		d.begin, d.lapseHolds, d.countMisses, d.readOpenings, d.endOpenings, d.walk,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin gives the decision its number and its moment, and takes the due rows.
func (d *decision) begin(ctx context.Context) error {
	no := d.made.ShowNo
	if err := d.tx.QueryRow(ctx, `
		UPDATE lines SET decision = decision + 1, last_decided_at = greatest(clock_timestamp(), last_decided_at)
		WHERE show_no = $1 RETURNING decision, last_decided_at, pace_at, next_place - 1`, no).
		Scan(&d.sit.Decision, &d.sit.Now, &d.sit.PaceAt, &d.sit.LineEnd); err != nil {
		return err
	}
	d.before = moment{now: d.sit.Now, decision: d.sit.Decision - 1}
	rows, err := d.tx.Query(ctx, `SELECT `+showColumns+` FROM shows WHERE show_no = $1`, no)
	if err != nil {
		return err
	}
	show, err := pgx.CollectExactlyOneRow(rows, scanShow)
	if err != nil {
		return err
	}
	d.sit.Show = &show
	_, err = d.tx.Exec(ctx, `DELETE FROM due WHERE show_no = $1`, no)
	return err
}

// lapseHolds ends the holds past their expiry: the seats are free, the fan waits
// again, and a turn was missed.
func (d *decision) lapseHolds(ctx context.Context) error {
	rows, err := d.tx.Query(ctx, `
		SELECT `+claimColumns+` FROM claims c WHERE c.show_no = $1 AND c.state = 'held' AND c.expires_at <= $2
		ORDER BY c.expires_at, c.id`, d.made.ShowNo, d.sit.Now)
	lapsed, err := all(rows, err, scanClaim)
	if err != nil || len(lapsed) == 0 {
		return err
	}
	enos := make([]int64, len(lapsed))
	events := make([]event, len(lapsed))
	for i := range lapsed {
		enos[i] = lapsed[i].EntryNo
		events[i] = claimEvent(&lapsed[i], notifier.ClaimLapsed, d.before)
		d.made.Fans = append(d.made.Fans, lapsed[i].FanNo)
	}
	if err := setState(ctx, d.tx, d.made.ShowNo, enos, d.before, waitlist.Waiting, "hold lapsed", ""); err != nil {
		return err
	}
	if err := endClaims(ctx, d.tx, lapsed, waitlist.ClaimLapsed, "", d.before); err != nil {
		return err
	}
	if err := insertResults(ctx, d.tx, lapsed, waitlist.ClaimLapsed, d.before); err != nil {
		return err
	}
	if err := d.s.record(ctx, d.tx, events...); err != nil {
		return err
	}
	return d.miss(ctx, enos)
}

// readOpenings reads the open openings with their live turns.
func (d *decision) readOpenings(ctx context.Context) error {
	rows, err := d.tx.Query(ctx, `
		SELECT `+openingColumns+` FROM openings o WHERE o.show_no = $1 AND o.state = 'open' ORDER BY o.opening_no`, d.made.ShowNo)
	list, err := all(rows, err, scanLiveOpening)
	if err != nil {
		return err
	}
	byNo := map[int64]*waitlist.LiveOpening{}
	var nos []int64
	for i := range list {
		o := &list[i]
		d.sit.Openings = append(d.sit.Openings, o)
		byNo[o.No], nos = o, append(nos, o.No)
		if o.Adjacent {
			if o.FreeSeats, err = adjacentSeats(ctx, d.tx, o.No); err != nil {
				return err
			}
		}
	}
	if len(nos) == 0 {
		return nil
	}
	return d.readLive(ctx, nos, byNo)
}

func (d *decision) readLive(ctx context.Context, nos []int64, byNo map[int64]*waitlist.LiveOpening) error {
	rows, err := d.tx.Query(ctx, `
		SELECT `+waveColumns+` FROM waves w
		WHERE w.show_no = $1 AND w.last_closes > $2 AND w.misses_done < w.size AND w.opening_no = ANY($3)
		ORDER BY w.opening_no, w.n`, d.made.ShowNo, d.sit.Now, nos)
	waves, err := all(rows, err, scanWave)
	if err != nil || len(waves) == 0 {
		return err
	}
	members, err := membersOf(ctx, d.tx, waves)
	if err != nil {
		return err
	}
	acted, err := actedIn(ctx, d.tx, nos)
	if err != nil {
		return err
	}
	for _, w := range waves {
		o := byNo[w.OpeningNo]
		o.Waves = append(o.Waves, waitlist.LiveWave{
			Wave: w, Members: members[w.Ref()], Acted: acted[w.OpeningNo],
		})
	}
	return nil
}

// endOpenings ends those that are filled, or exhausted as sales closed, and hands
// back what no hold stands on.
func (d *decision) endOpenings(ctx context.Context) error {
	ends := map[waitlist.OpeningState][]int64{}
	open := d.sit.Openings[:0]
	for _, o := range d.sit.Openings {
		if to := o.Ending(d.sit.Show, d.sit.Now); to != "" {
			ends[to] = append(ends[to], o.No)
			continue
		}
		open = append(open, o)
	}
	d.sit.Openings = open
	for to, nos := range ends {
		if err := d.end(ctx, nos, to, d.before); err != nil {
			return err
		}
	}
	return d.s.handBack(ctx, d.tx, d.made.ShowNo, d.before)
}

// end makes openings final and notes the fans whose turn was cut short.
func (d *decision) end(ctx context.Context, nos []int64, to waitlist.OpeningState, m moment) error {
	if err := d.s.endOpenings(ctx, d.tx, d.made.ShowNo, nos, to, m); err != nil {
		return err
	}
	if to != waitlist.OpeningFilled {
		return nil // nobody's turn is open when an opening is exhausted
	}
	rows, err := d.tx.Query(ctx, `
		SELECT unnest(m.fans) FROM waves w JOIN wave_members m USING (opening_no, n)
		WHERE w.opening_no = ANY($1) AND w.last_closes > $2`, nos, m.now)
	fans, err := all(rows, err, pgx.RowTo[int64])
	d.made.Fans = append(d.made.Fans, fans...)
	return err
}

// walk makes the waves and writes them.
func (d *decision) walk(ctx context.Context) error {
	src := &source{tx: d.tx, show: d.made.ShowNo}
	for _, o := range d.sit.Openings {
		src.open = append(src.open, o.No)
	}
	plan, err := waitlist.Decide(ctx, &d.sit, src)
	if err != nil {
		return err
	}
	if err := d.write(ctx, plan.Waves); err != nil {
		return err
	}
	if len(plan.Exhausted) > 0 {
		if err := d.end(ctx, plan.Exhausted, waitlist.OpeningExhausted, d.before); err != nil {
			return err
		}
		if err := d.s.handBack(ctx, d.tx, d.made.ShowNo, d.before); err != nil {
			return err
		}
	}
	return d.finish(ctx, plan)
}

// finish writes the pace and the moments at which to decide again. The rows that
// ending an opening asked for are taken: this decision went past them.
func (d *decision) finish(ctx context.Context, plan *waitlist.Plan) error {
	if !plan.PaceAt.Equal(d.sit.PaceAt) {
		if _, err := d.tx.Exec(ctx, `UPDATE lines SET pace_at = $2 WHERE show_no = $1`, d.made.ShowNo, plan.PaceAt); err != nil {
			return err
		}
	}
	if _, err := d.tx.Exec(ctx, `DELETE FROM due WHERE show_no = $1`, d.made.ShowNo); err != nil {
		return err
	}
	_, err := d.tx.Exec(ctx, `
		INSERT INTO due (show_no, at)
		SELECT DISTINCT $1::int, at FROM (
			SELECT unnest($2::timestamptz[]) AS at
			UNION SELECT min(expires_at) FROM claims WHERE show_no = $1 AND state = 'held') d
		WHERE at IS NOT NULL`, d.made.ShowNo, plan.Due)
	return err
}
