package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

const openingColumns = `o.opening_no, o.show_no, o.opening_id, o.tier, o.reason, o.adjacent, o.mode, o.strategy,
	o.fans_per_seat, o.window_s, o.hold_s, o.state, o.quantity, o.free, o.held, o.confirmed, o.given, o.waves,
	o.recorded_at, o.final_at, o.final_decision, o.handed_back, o.last_empty`

func openingFields(o *waitlist.LiveOpening, window, hold *int) []any {
	return []any{
		&o.No, &o.ShowNo, &o.ID, &o.Tier, &o.Reason, &o.Adjacent, &o.Mode, &o.Strategy,
		&o.FansPerSeat, window, hold, &o.State, &o.Quantity, &o.Free, &o.Held, &o.Confirmed, &o.Given, &o.Opening.Waves,
		&o.RecordedAt, &o.FinalAt, &o.FinalDecision, &o.HandedBack, &o.LastEmpty,
	}
}

func scanLiveOpening(row pgx.CollectableRow) (o waitlist.LiveOpening, err error) {
	var window, hold int
	err = row.Scan(openingFields(&o, &window, &hold)...)
	o.Window, o.Hold = time.Duration(window)*time.Second, time.Duration(hold)*time.Second
	return o, err
}

func scanOpening(row pgx.CollectableRow) (waitlist.Opening, error) {
	o, err := scanLiveOpening(row)
	return o.Opening, err
}

// openingByID reads an opening. tail may lock it.
func openingByID(ctx context.Context, q querier, show int32, id, tail string) (waitlist.Opening, error) {
	rows, err := q.Query(ctx, `
		SELECT `+openingColumns+` FROM openings o WHERE o.show_no = $1 AND o.opening_id = $2`+tail, show, id)
	if err != nil {
		return waitlist.Opening{}, err
	}
	o, err := pgx.CollectExactlyOneRow(rows, scanOpening)
	return o, notFound(err, "opening", id)
}

// resolve turns an opening's ids into its show's number and its row.
func resolve(ctx context.Context, q querier, ref waitlist.OpeningRef) (waitlist.Opening, error) {
	no, err := showNo(ctx, q, ref.ShowID)
	if err != nil {
		return waitlist.Opening{}, err
	}
	o, err := openingByID(ctx, q, no, ref.OpeningID, "")
	o.ShowID = ref.ShowID
	return o, err
}

// Record stores the opening, its labels, its event and the event's jobs, and asks
// for a decision.
func (s *Store) Record(ctx context.Context, show string, n waitlist.NewOpening) (o waitlist.Opening, created bool, err error) {
	err = s.inTxOnce(ctx, "record an opening", func(tx pgx.Tx) (any, int64, error) {
		o, created, err = s.recordOpening(ctx, tx, show, n)
		o.ShowID = show
		if !created {
			return unkept{}, 0, err
		}
		return o, 0, err
	})
	if err != nil {
		return waitlist.Opening{}, false, err
	}
	if !created {
		err = s.told(ctx, &o)
	}
	return o, created, err
}

func (s *Store) recordOpening(ctx context.Context, tx pgx.Tx, show string, n waitlist.NewOpening) (o waitlist.Opening, created bool, err error) {
	no, err := showNo(ctx, tx, show)
	if err != nil {
		return o, false, err
	}
	if err := lockShared(ctx, tx, no); err != nil {
		return o, false, err
	}
	sh, err := showByID(ctx, tx, show)
	if err != nil {
		return o, false, err
	}
	print, err := n.Fingerprint()
	if err != nil {
		return o, false, err
	}
	if o, err = openingByID(ctx, tx, no, n.ID, ""); err == nil {
		return o, false, s.sameOpening(ctx, tx, &o, print)
	} else if waitlist.CodeOf(err) != waitlist.NotFound {
		return o, false, err
	}
	if err := sh.Shut(); err != nil {
		return o, false, err
	}
	m, err := look(ctx, tx, no)
	if err != nil {
		return o, false, err
	}
	created, err = s.insertOpening(ctx, tx, &sh, n, print, m)
	if err != nil {
		return o, false, err
	}
	if o, err = openingByID(ctx, tx, no, n.ID, ""); err != nil {
		return o, false, err
	}
	if !created {
		return o, false, s.sameOpening(ctx, tx, &o, print)
	}
	if err := insertLabels(ctx, tx, &o, n.Seats); err != nil {
		return o, false, err
	}
	if err := s.record(ctx, tx, event{
		Type: notifier.OpeningRecorded, At: m.now, ShowNo: no, OpeningNo: o.No,
		Data: map[string]any{"quantity": o.Quantity, "reason": o.Reason, "strategy": o.Strategy},
	}); err != nil {
		return o, false, err
	}
	return o, true, due(ctx, tx, no, m.now)
}

// insertOpening is not created when the same id was recorded in the meantime; it
// waits for that one's commit.
func (s *Store) insertOpening(ctx context.Context, tx pgx.Tx, sh *waitlist.Show, n waitlist.NewOpening, print []byte, m moment) (bool, error) {
	p := n.Policy.Over(sh.Policy)
	if p.Strategy == waitlist.Auto {
		if err := s.fillShow(ctx, tx, sh); err != nil {
			return false, err
		}
		p.Strategy = waitlist.Choose(p.Strategy, sh.Waiting, s.threshold)
	}
	stale(tx, openingKey(sh.No, n.ID))
	tag, err := tx.Exec(ctx, `
		INSERT INTO openings (show_no, opening_id, fingerprint, tier, reason, adjacent, mode, strategy,
			fans_per_seat, window_s, hold_s, quantity, free, recorded_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13)
		ON CONFLICT (show_no, opening_id) DO NOTHING`,
		sh.No, n.ID, print, n.Tier, n.Reason, n.Adjacent, p.Mode, p.Strategy,
		p.FansPerSeat, p.ClaimWindowS, p.HoldS, n.Size(), m.now.Truncate(time.Millisecond))
	return tag.RowsAffected() == 1, err
}

func (s *Store) sameOpening(ctx context.Context, tx pgx.Tx, o *waitlist.Opening, print []byte) error {
	var same bool
	err := tx.QueryRow(ctx, `SELECT fingerprint = $2::jsonb FROM openings WHERE opening_no = $1`, o.No, print).Scan(&same)
	if err == nil && !same {
		return waitlist.Refuse(waitlist.Conflict, "opening %q was recorded before with another body; an opening cannot change", o.ID)
	}
	return err
}

// insertLabels stores labelled seats, sorted by label so that two reports cannot
// deadlock, and refuses labels that are free or held in another opening.
func insertLabels(ctx context.Context, tx pgx.Tx, o *waitlist.Opening, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO seats (opening_no, no, show_no, label)
		SELECT $1, i, $2, label FROM unnest($3::text[]) WITH ORDINALITY l (label, i) ORDER BY label
		ON CONFLICT (show_no, label) WHERE state IN ('free', 'held') DO NOTHING RETURNING label`, o.No, o.ShowNo, labels)
	stored, err := all(rows, err, pgx.RowTo[string])
	if err != nil || len(stored) == len(labels) {
		return err
	}
	slices.Sort(stored)
	var taken []string
	for _, l := range labels {
		if _, ok := slices.BinarySearch(stored, l); !ok && len(taken) < 20 {
			taken = append(taken, l)
		}
	}
	e := waitlist.Refuse(waitlist.Conflict, "free or held in another opening of this show: %s", strings.Join(taken, ", "))
	e.Field = "seats"
	return e
}

// told counts the turns that opened.
func (s *Store) told(ctx context.Context, os ...*waitlist.Opening) error {
	nos := make([]int64, len(os))
	byNo := map[int64]*waitlist.Opening{}
	for i, o := range os {
		nos[i], byNo[o.No] = o.No, o
	}
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	rows, err := s.pool.Query(ctx, `SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = ANY($1) AND w.size > 0`, nos)
	waves, err := all(rows, err, scanWave)
	if err != nil {
		return err
	}
	for i := range waves {
		o, end := byNo[waves[i].OpeningNo], now
		if o.FinalAt != nil && !o.FinalAt.After(end) {
			end = o.FinalAt.Add(-time.Microsecond) // opens < final_at
		}
		if last := waves[i].CloseCap.Add(-time.Microsecond); last.Before(end) {
			end = last
		}
		o.Told += int64(waves[i].Opened(end))
	}
	return s.untold(ctx, nos, byNo, now)
}

// untold takes off the turns whose fan left before they opened.
func (s *Store) untold(ctx context.Context, nos []int64, byNo map[int64]*waitlist.Opening, now time.Time) error {
	rows, err := s.pool.Query(ctx, `
		SELECT opening_no, count(*) FROM (
			SELECT t.opening_no, `+turnOpens("t.k")+` AS opens, `+turnCloses("t.k")+` AS closes, o.final_at, t.at AS acted_at
			FROM turns t JOIN waves w USING (opening_no, n) JOIN openings o USING (opening_no)
			WHERE t.opening_no = ANY($1) AND t.state IN ('left', 'removed', 'bought')) t
		WHERE acted_at < opens AND opens <= $2 AND `+turnPlanned+`
		GROUP BY 1`, nos, now)
	if err != nil {
		return err
	}
	var no, n int64
	_, err = pgx.ForEachRow(rows, []any{&no, &n}, func() error { byNo[no].Told -= n; return nil })
	return err
}

// Opening returns an opening.
func (s *Store) Opening(ctx context.Context, ref waitlist.OpeningRef) (waitlist.Opening, error) {
	o, err := resolve(ctx, s.pool, ref)
	if err != nil {
		return o, err
	}
	err = s.told(ctx, &o)
	return o, err
}

// Openings are newest first.
func (s *Store) Openings(ctx context.Context, show string, before int64, limit int) ([]waitlist.Opening, error) {
	no, err := showNo(ctx, s.pool, show)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+openingColumns+` FROM openings o WHERE o.show_no = $1 AND ($2 = 0 OR o.opening_no < $2)
		ORDER BY o.opening_no DESC LIMIT $3`, no, before, limit)
	list, err := all(rows, err, scanOpening)
	if err != nil {
		return nil, err
	}
	refs := make([]*waitlist.Opening, len(list))
	for i := range list {
		list[i].ShowID = show
		refs[i] = &list[i]
	}
	return list, s.told(ctx, refs...)
}

// StrategyOf returns the strategy that an opening was recorded with.
func (s *Store) StrategyOf(ctx context.Context, openingNo int64) (st waitlist.Strategy, err error) {
	err = s.pool.QueryRow(ctx, `SELECT strategy FROM openings WHERE opening_no = $1`, openingNo).Scan(&st)
	return st, err
}
