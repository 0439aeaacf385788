package store

import (
	"strconv"

	"github.com/jackc/pgx/v5"
)

// The keys of the cache, by what they hold. Writers know numbers rather than ids.
func fanKey(fan string) string   { return "f:" + fan }
func showKey(show string) string { return "s:" + show }
func openingKey(show int32, id string) string {
	return "o:" + strconv.Itoa(int(show)) + ":" + id
}

func entryKey(show int32, fan int64) string {
	return "e:" + strconv.Itoa(int(show)) + ":" + strconv.FormatInt(fan, 10)
}

func chunkKey(show int32, chunk int64) string {
	return "c:" + strconv.Itoa(int(show)) + ":" + strconv.FormatInt(chunk, 10)
}

func membersKey(opening int64, n int) string {
	return "m:" + strconv.FormatInt(opening, 10) + ":" + strconv.Itoa(n)
}
func inboxKey(fan int64) string { return "i:" + strconv.FormatInt(fan, 10) }

// newsKey stands for all that a show brings to inboxes without a row a fan: waves,
// ends of openings, announcements, another name.
func newsKey(show int32) string { return "n:" + strconv.Itoa(int(show)) }

// staleTx is a transaction that notes which keys of the cache it makes stale, for
// after its commit.
type staleTx struct {
	pgx.Tx
	keys map[string]struct{}
}

// stale notes keys whose value the transaction changes. Whoever writes rows says so
// beside the statement that does.
func stale(tx pgx.Tx, keys ...string) {
	t, ok := tx.(*staleTx)
	if !ok {
		return // of a test, outside of inTx
	}
	if t.keys == nil {
		t.keys = map[string]struct{}{}
	}
	for _, key := range keys {
		t.keys[key] = struct{}{}
	}
}

// staleFans notes that something changed about fans in a show: their entries and
// inboxes.
func staleFans(tx pgx.Tx, show int32, fans ...int64) {
	for _, fan := range fans {
		stale(tx, entryKey(show, fan), inboxKey(fan))
	}
}
