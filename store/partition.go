package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// partitioned is a table whose rows go by dropping whole days of them, days of
// UTC. Its migration makes it with a default partition, named TABLE_default, as a
// net for rows of days that have none.
type partitioned struct {
	table string
	// day is the SQL of a row's day.
	day string
	// keep is for how many days rows are kept.
	keep int
	// leaving is called before a partition is dropped, in that transaction.
	leaving func(ctx context.Context, tx pgx.Tx, partition string) error
}

// partitionedTables are all of them.
var partitionedTables = []partitioned{
	{table: "events", day: `(at AT TIME ZONE 'UTC')::date`, keep: streamDays, leaving: raiseFloor},
	{table: "deliveries", day: `day`, keep: deliveryDays},
}

// deliveryDays is for how many days deliveries are kept.
const deliveryDays = 30

// daysAhead is for how many days to come there are partitions.
const daysAhead = 3

// TurnPartitions makes the partitions of the coming days, moves what fell beside
// them, and drops those whose time is over. Where another process is at it, or
// somebody reads a table for long, it leaves the rest to its next call.
func (s *Store) TurnPartitions(ctx context.Context) error {
	for i := range partitionedTables {
		t := &partitionedTables[i]
		err := s.inTx(ctx, "turn the partitions of "+t.table, func(tx pgx.Tx) error { return t.turn(ctx, tx) })
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "55P03" {
			continue // a lock was not to be had
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makePartitions makes those of today and the coming days, when the database was
// migrated and before anything is written.
func makePartitions(ctx context.Context, db *sql.DB) error {
	for i := range partitionedTables {
		if _, err := db.ExecContext(ctx, `
			SELECT make_partition($1, (clock_timestamp() AT TIME ZONE 'UTC')::date + i) FROM generate_series(0, $2) i`,
			partitionedTables[i].table, daysAhead); err != nil {
			return fmt.Errorf("make the partitions of %s: %w", partitionedTables[i].table, err)
		}
	}
	return nil
}

func (t *partitioned) turn(ctx context.Context, tx pgx.Tx) error {
	var mine bool
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, hashtext($2))`, lockPartitions, t.table).Scan(&mine); err != nil || !mine {
		return err
	}
	// A drop queues for the whole table, and all who come later queue behind it.
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '500ms'`); err != nil {
		return err
	}
	now, err := nowIn(ctx, tx)
	if err != nil {
		return err
	}
	today := now.UTC().Truncate(24 * time.Hour)
	if err := t.make(ctx, tx, today); err != nil {
		return err
	}
	return t.drop(ctx, tx, today.AddDate(0, 0, -t.keep))
}

// make makes the partitions from today on, and those of days whose rows lie in the
// default one, a few at a time.
func (t *partitioned) make(ctx context.Context, tx pgx.Tx, today time.Time) error {
	_, err := tx.Exec(ctx, `
		SELECT make_partition($1, day) FROM (
			SELECT $2::date + i AS day FROM generate_series(0, $3) i
			UNION (SELECT `+t.day+` FROM `+t.table+`_default GROUP BY 1 ORDER BY 1 LIMIT 14)) d`,
		t.table, today, daysAhead)
	return err
}

// drop drops the partitions of the days before first.
func (t *partitioned) drop(ctx context.Context, tx pgx.Tx, first time.Time) error {
	rows, err := tx.Query(ctx, `
		SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = $1::text::regclass AND c.relname ~ '_[0-9]{8}$' AND right(c.relname, 8) < $2 ORDER BY 1`,
		t.table, first.Format("20060102"))
	old, err := all(rows, err, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, partition := range old {
		if t.leaving != nil {
			if err := t.leaving(ctx, tx, partition); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `DROP TABLE `+pgx.Identifier{partition}.Sanitize()); err != nil {
			return err
		}
	}
	return nil
}
