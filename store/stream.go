package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// streamDays is for how many days the stream is kept.
const streamDays = 14

// raiseFloor notes where the stream begins when a partition of it goes.
func raiseFloor(ctx context.Context, tx pgx.Tx, partition string) error {
	_, err := tx.Exec(ctx, `
		UPDATE stream_floor f SET xid = e.xid, id = e.id
		FROM (SELECT xid, id FROM `+pgx.Identifier{partition}.Sanitize()+` ORDER BY xid DESC, id DESC LIMIT 1) e
		WHERE (f.xid, f.id) < (e.xid, e.id)`)
	return err
}
