package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// audited writes the audit that the context of a change carries, as the last
// statement of the change's transaction. Where nothing was changed nothing is
// written: an act without effect, such as cancelling what is cancelled, was none.
func audited(ctx context.Context, tx pgx.Tx) error {
	a, ok := waitlist.AuditOf(ctx)
	if !ok {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO audit (at, who, act, show_no, opening_no, fan_no, reason)
		SELECT clock_timestamp(), $1, $2, s.show_no, o.opening_no, f.fan_no, $6
		FROM (VALUES (1)) one
		LEFT JOIN shows s ON s.show_id = $3
		LEFT JOIN openings o ON o.show_no = s.show_no AND o.opening_id = $4
		LEFT JOIN fans f ON f.fan_id = $5
		WHERE pg_current_xact_id_if_assigned() IS NOT NULL`,
		a.Who, string(a.Act), a.ShowID, a.OpeningID, a.FanID, a.Reason)
	return err
}

// NoteAct writes an audit of what is done beside the line's own transactions.
func (s *Store) NoteAct(ctx context.Context, a waitlist.Audit) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO audit (at, who, act, reason) VALUES (clock_timestamp(), $1, $2, $3)`, a.Who, string(a.Act), a.Reason)
	return err
}

// Audits returns a page of the audit log, newest first.
func (s *Store) Audits(ctx context.Context, f waitlist.AuditFilter) ([]waitlist.Audit, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT a.id, a.at, a.who, a.act, a.reason, a.fan_no IS NOT NULL AND f.fan_no IS NULL,
			coalesce(s.show_id, ''), coalesce(s.name, ''), coalesce(s.time_zone, ''), coalesce(o.opening_id, ''), coalesce(f.fan_id, '')
		FROM audit a LEFT JOIN shows s USING (show_no) LEFT JOIN openings o USING (opening_no) LEFT JOIN fans f USING (fan_no)
		WHERE ($1 = 0 OR a.id < $1)
			AND ($2 = '' OR a.show_no = (SELECT show_no FROM shows WHERE show_id = $2))
			AND ($3 = '' OR o.opening_id = $3)
			AND ($4 = '' OR a.fan_no = (SELECT fan_no FROM fans WHERE fan_id = $4))
			AND ($5 = '' OR a.who = $5)
		ORDER BY a.id DESC LIMIT $6`, f.Before, f.ShowID, f.OpeningID, f.FanID, f.Who, f.Limit)
	return all(rows, err, func(row pgx.CollectableRow) (a waitlist.Audit, err error) {
		err = row.Scan(&a.ID, &a.At, &a.Who, &a.Act, &a.Reason, &a.Erased,
			&a.ShowID, &a.ShowName, &a.TimeZone, &a.OpeningID, &a.FanID)
		return a, err
	})
}
