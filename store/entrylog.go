package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

const changeColumns = `l.eno, l.decision, l.at, l.what, l.reason, l.place, l.tier, l.party, l.state, l.dormant`

func changeFields(c *waitlist.Change) []any {
	b := &c.Before
	return []any{&b.No, &c.Decision, &c.At, &c.What, &c.Reason, &b.Place, &b.Tier, &b.Party, &b.State, &b.Dormant}
}

func scanChange(row pgx.CollectableRow) (c waitlist.Change, err error) {
	err = row.Scan(changeFields(&c)...)
	return c, err
}

// logEntries keeps what entries are before the statement that changes them. Under
// the shared lock the caller holds the rows' locks.
func logEntries(ctx context.Context, tx pgx.Tx, no int32, enos []int64, m moment, what, reason string) error {
	rows, err := tx.Query(ctx, `
		WITH was AS (SELECT * FROM entries WHERE show_no = $1 AND eno = ANY($2)),
		kept AS (
			INSERT INTO entry_log (show_no, eno, decision, at, what, reason, place, tier, party, state, dormant)
			SELECT show_no, eno, $3, $4, $5, $6, place, tier, party, state, dormant FROM was ORDER BY eno)
		SELECT fan_no FROM was`, no, enos, m.decision, m.now, what, reason)
	fans, err := all(rows, err, pgx.RowTo[int64])
	staleFans(tx, no, fans...)
	return err
}

// logGiven is logEntries for an entry that gets the next turn of an opening.
func logGiven(ctx context.Context, tx pgx.Tx, e *waitlist.Entry, o *waitlist.Opening, m moment, reason string) error {
	staleFans(tx, e.ShowNo, e.FanNo)
	_, err := tx.Exec(ctx, `
		INSERT INTO entry_log (show_no, eno, decision, at, what, reason, opening_no, place, tier, party, state, dormant)
		SELECT show_no, eno, $3, $4, 'given', $5, $6, place, tier, party, state, dormant
		FROM entries WHERE show_no = $1 AND eno = $2`, e.ShowNo, e.No, m.decision, m.now, reason, o.No)
	return err
}

// logsOf returns the changes of entries, oldest first, from those that decision
// first did not see on.
func logsOf(ctx context.Context, q querier, show int32, enos []int64, first int64) (map[int64][]waitlist.Change, error) {
	rows, err := q.Query(ctx, `
		SELECT `+changeColumns+` FROM entry_log l
		WHERE l.show_no = $1 AND l.eno = ANY($2) AND l.decision >= $3 ORDER BY l.id`, show, enos, first)
	changes, err := all(rows, err, scanChange)
	logs := map[int64][]waitlist.Change{}
	for _, c := range changes {
		logs[c.Before.No] = append(logs[c.Before.No], c)
	}
	return logs, err
}

// Changes are the newest changes of an entry, newest first.
func (s *Store) Changes(ctx context.Context, e *waitlist.Entry, limit int) ([]waitlist.Change, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT `+changeColumns+` FROM entry_log l
		WHERE l.show_no = $1 AND l.eno = $2 ORDER BY l.id DESC LIMIT $3`, e.ShowNo, e.No, limit)
	return all(rows, err, scanChange)
}
