package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
)

// Items returns a page of a fan's inbox, newest first.
func (s *Store) Items(ctx context.Context, fan string, q notifier.InboxQuery) (items []notifier.Item, unread int, err error) {
	if items, unread, ok, err := s.headItems(ctx, fan, q); ok || err != nil {
		return items, unread, err
	}
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return nil, 0, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, 0, err
	}
	rows, err := s.items(ctx, no, now, q)
	if err != nil {
		return nil, 0, err
	}
	items = make([]notifier.Item, len(rows))
	for i := range rows {
		items[i] = rows[i].item()
	}
	counts, err := planOnce(ctx, s, pgx.RowTo[int], unreadSQL, []int64{no}, now)
	if err != nil {
		return nil, 0, err
	}
	return items, counts[0], nil
}

func (s *Store) items(ctx context.Context, fan int64, now time.Time, q notifier.InboxQuery) ([]item, error) {
	var at *time.Time
	var id string
	if q.After != nil {
		at, id = &q.After.At, q.After.ID
	}
	return planOnce(ctx, s, scanItem, `
		SELECT * FROM (`+itemsSQL+`) x
		WHERE (NOT $3 OR read_at IS NULL) AND ($4 = '' OR kind = $4)
			AND ($5::timestamptz IS NULL OR (at, id) < ($5, $6))
		ORDER BY at DESC, id DESC LIMIT $7`,
		[]int64{fan}, now, q.Unread, string(q.Kind), at, id, q.Limit)
}

// unreadSQL counts the unread items of fans $1 as of $2.
var unreadSQL = `SELECT count(*) FROM (` + itemsSQL + `) x WHERE read_at IS NULL`

func unreadOf(ctx context.Context, tx pgx.Tx, fan int64, now time.Time) (n int, err error) {
	err = tx.QueryRow(ctx, unreadSQL, []int64{fan}, now).Scan(&n)
	return n, err
}

// MarkRead marks items of the fan that exist as read.
func (s *Store) MarkRead(ctx context.Context, fan string, ids []string) (unread int, err error) {
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return 0, err
	}
	err = s.inTxOnce(ctx, "mark items read", func(tx pgx.Tx) (any, int64, error) {
		now, err := nowIn(ctx, tx)
		if err != nil {
			return nil, 0, err
		}
		stale(tx, inboxKey(no))
		if _, err := tx.Exec(ctx, `
			INSERT INTO inbox_reads (fan_no, kind, ref, read_at)
			SELECT fan_no, kind, ref, $2 FROM (`+itemsSQL+`) x
			WHERE id = ANY($3) AND read_at IS NULL
			ON CONFLICT DO NOTHING`, []int64{no}, now, ids); err != nil {
			return nil, 0, err
		}
		unread, err = unreadOf(ctx, tx, no, now)
		return unread, 0, err
	})
	return unread, err
}

// MarkAllRead marks what existed before t as read, but nothing that is still to
// come.
func (s *Store) MarkAllRead(ctx context.Context, fan string, t time.Time) (unread int, err error) {
	no, err := s.FanNo(ctx, fan)
	if err != nil {
		return 0, err
	}
	err = s.inTxOnce(ctx, "mark all items read", func(tx pgx.Tx) (any, int64, error) {
		stale(tx, inboxKey(no))
		if _, err := tx.Exec(ctx, `
			UPDATE fans SET read_before = greatest(read_before, least($2, clock_timestamp())) WHERE fan_no = $1`, no, t); err != nil {
			return nil, 0, err
		}
		now, err := nowIn(ctx, tx)
		if err != nil {
			return nil, 0, err
		}
		unread, err = unreadOf(ctx, tx, no, now)
		return unread, 0, err
	})
	return unread, err
}
