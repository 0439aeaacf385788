package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// Requests with an idempotency key. An answer is a row that is written in the
// transaction of its effect, so that there is never one without the other, and
// nothing to be cleared up after a crash. Twins are kept apart by an advisory lock
// on the key's hash, which ends with the transaction: it is tried, never waited
// for, so that a twin holds neither a connection nor anybody else's batch. It is
// taken before the show's lock.

// errFanGone: a fan was erased while the transaction ran; it is run again, with
// the fan that the id names now.
var errFanGone = errors.New("the fan was erased in the meantime")

// keyed is a request with a key in a transaction.
type keyed struct {
	*waitlist.Once
	id    [sha256.Size]byte
	fans  []int64 // who asks, and whom the answer names
	reply waitlist.Reply
}

// keyedOf prepares requests; nil ones stay nil. It comes before the transaction,
// since fans exist from the first call on.
func (s *Store) keyedOf(ctx context.Context, list []*waitlist.Once) ([]*keyed, error) {
	var fans []string
	for _, o := range list {
		if o != nil && o.Fan != "" {
			fans = append(fans, o.Fan)
		}
	}
	var nos map[string]int64
	if len(fans) > 0 {
		var err error
		if nos, err = s.fanNos(ctx, fans); err != nil {
			return nil, err
		}
	}
	ks := make([]*keyed, len(list))
	for i, o := range list {
		if o == nil {
			continue
		}
		ks[i] = &keyed{Once: o, id: onceID(o, nos[o.Fan], o.Step)}
		if o.Fan != "" {
			ks[i].fans = []int64{nos[o.Fan]}
		}
	}
	return ks, nil
}

// onceID is a key of one caller. A fan goes by the number, so that an id which is
// named again after erasure has keys of its own.
func onceID(o *waitlist.Once, fan int64, step int) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %d %q %d", o.Caller, fan, o.Key, step))
}

// openKeys locks the keys that are free and says of each request, by index,
// whether it may go on: nil, or why not. Requests without a key may.
func openKeys(ctx context.Context, tx pgx.Tx, ks []*keyed) ([]error, error) {
	refused := make([]error, len(ks))
	at := map[[sha256.Size]byte]int{}
	var ids [][]byte
	var locks []int64
	var asked []int
	for i, k := range ks {
		if k == nil {
			continue
		}
		if _, twin := at[k.id]; twin {
			refused[i] = k.Wait()
			continue
		}
		at[k.id] = i
		ids, locks = append(ids, k.id[:]), append(locks, int64(binary.BigEndian.Uint64(k.id[:])))
		asked = append(asked, i)
	}
	if len(ids) == 0 {
		return refused, nil
	}
	batch := &pgx.Batch{}
	batch.Queue(`SELECT i, pg_try_advisory_xact_lock(lock) FROM unnest($1::bigint[]) WITH ORDINALITY t (lock, i)`, locks)
	// A statement of its own: it sees what the lock's last holder committed.
	batch.Queue(`
		SELECT id, request, status, content_type, location, retry_after, body FROM answers
		WHERE id = ANY($1) AND at > clock_timestamp() - `+answersKept, ids)
	results := tx.SendBatch(ctx, batch)
	defer results.Close()
	if err := refuseBusy(results, asked, ks, refused); err != nil {
		return nil, err
	}
	if err := refuseAnswered(results, at, ks, refused); err != nil {
		return nil, err
	}
	return refused, results.Close()
}

// refuseBusy reads which locks were taken; asked are their requests, in order.
func refuseBusy(results pgx.BatchResults, asked []int, ks []*keyed, refused []error) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	var i int
	var locked bool
	_, err = pgx.ForEachRow(rows, []any{&i, &locked}, func() error {
		if at := asked[i-1]; !locked {
			refused[at] = ks[at].Wait()
		}
		return nil
	})
	return err
}

// refuseAnswered reads the answers that are kept. One of status 0 was begun and is
// gone on with.
func refuseAnswered(results pgx.BatchResults, at map[[sha256.Size]byte]int, ks []*keyed, refused []error) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	var id, request []byte
	var r waitlist.Reply
	var body string
	_, err = pgx.ForEachRow(rows, []any{&id, &request, &r.Status, &r.ContentType, &r.Location, &r.RetryAfter, &body}, func() error {
		at := at[[sha256.Size]byte(id)]
		k := ks[at]
		switch {
		case !bytes.Equal(request, k.Request[:]):
			refused[at] = k.Clash()
		case r.Status != 0:
			r.Body = []byte(body)
			refused[at] = k.Replay(r)
		}
		return nil
	})
	return err
}

// answer makes the answer of a result that is about a fan, or about none.
func (k *keyed) answer(result any, fan int64) (err error) {
	if k.Encode == nil {
		return fmt.Errorf("no answer is made of a %T", result)
	}
	if fan != 0 && !slices.Contains(k.fans, fan) {
		k.fans = append(k.fans, fan)
	}
	k.reply, err = k.Encode(result)
	return err
}

// keepAnswers writes the answers of requests that went on; nil ones are left out.
// The fans whom they name stay until the transaction ends.
func keepAnswers(ctx context.Context, tx pgx.Tx, ks []*keyed) error {
	batch := &pgx.Batch{}
	var fans []int64
	for _, k := range ks {
		if k == nil {
			continue
		}
		fans = append(fans, k.fans...)
		batch.Queue(`
			INSERT INTO answers (id, request, status, content_type, location, retry_after, body, fans)
			VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8::bigint[], '{}'))
			ON CONFLICT (id) DO UPDATE SET request = excluded.request, at = clock_timestamp(), status = excluded.status,
				content_type = excluded.content_type, location = excluded.location, retry_after = excluded.retry_after,
				body = excluded.body, fans = excluded.fans`,
			k.id[:], k.Request[:], k.reply.Status, k.reply.ContentType, k.reply.Location, k.reply.RetryAfter, string(k.reply.Body), k.fans)
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	_, err := keepFans(ctx, tx, fans)
	return err
}

// keepFans holds fans off erasure until the transaction ends, or fails with
// errFanGone. It comes after the show's lock. now is read when they are held.
func keepFans(ctx context.Context, tx pgx.Tx, fans []int64) (now time.Time, err error) {
	if len(fans) == 0 {
		return nowIn(ctx, tx)
	}
	slices.Sort(fans)
	fans = slices.Compact(fans)
	var n int
	err = tx.QueryRow(ctx, `
		SELECT count(*), clock_timestamp() FROM (SELECT FROM fans WHERE fan_no = ANY($1) ORDER BY fan_no FOR KEY SHARE) f`, fans).Scan(&n, &now)
	if err == nil && n < len(fans) {
		err = errFanGone
	}
	return now, err
}

// untilFansStay runs f again when a fan was erased under it.
func untilFansStay(f func() error) (err error) {
	for range tries {
		if err = f(); !errors.Is(err, errFanGone) {
			break
		}
	}
	return err
}

// unkept is the result of a change that did not happen, since what was asked for
// stood already: its answer needs no transaction.
type unkept struct{}

// inTxOnce is inTx for a change that may carry an idempotency key. f also returns
// the result, of which the answer is made, and the number of the fan it is about.
func (s *Store) inTxOnce(ctx context.Context, what string, f func(tx pgx.Tx) (result any, fan int64, err error)) error {
	o := waitlist.OnceOf(ctx)
	if o == nil {
		return s.inTx(ctx, what, func(tx pgx.Tx) error {
			_, _, err := f(tx)
			return err
		})
	}
	return untilFansStay(func() error {
		ks, err := s.keyedOf(ctx, []*waitlist.Once{o})
		if err != nil {
			return err
		}
		kept := false
		err = s.inTx(ctx, what, func(tx pgx.Tx) error {
			kept = false
			refused, err := openKeys(ctx, tx, ks)
			if err != nil {
				return err
			}
			if refused[0] != nil {
				return refused[0]
			}
			result, fan, err := f(tx)
			if _, ok := result.(unkept); ok || err != nil {
				return err
			}
			kept = true
			if err := ks[0].answer(result, fan); err != nil {
				return err
			}
			return keepAnswers(ctx, tx, ks)
		})
		if err == nil && kept {
			o.Keep(ks[0].reply)
		}
		return err
	})
}

// Begin claims the key of a request of several transactions, before the first. The
// steps that were done before are found done.
func (s *Store) Begin(ctx context.Context, o *waitlist.Once) error {
	return s.settle(ctx, o, waitlist.Reply{})
}

// Settle keeps the answer to a request that had no effect, or whose steps are all
// done, unless one is kept already: then that is the answer.
func (s *Store) Settle(ctx context.Context, o *waitlist.Once, r waitlist.Reply) error {
	err := s.settle(ctx, o, r)
	if err == nil {
		o.Keep(r)
	}
	return err
}

func (s *Store) settle(ctx context.Context, o *waitlist.Once, r waitlist.Reply) error {
	return untilFansStay(func() error {
		ks, err := s.keyedOf(ctx, []*waitlist.Once{o})
		if err != nil {
			return err
		}
		ks[0].reply = r
		return s.inTx(ctx, "keep an answer", func(tx pgx.Tx) error {
			refused, err := openKeys(ctx, tx, ks)
			if err != nil {
				return err
			}
			if refused[0] != nil {
				return refused[0]
			}
			if err := keepAnswers(ctx, tx, ks); err != nil || r.Status == 0 {
				return err
			}
			return dropSteps(ctx, tx, ks[0])
		})
	})
}

// dropSteps removes the answers of steps, which the answer of the whole holds.
func dropSteps(ctx context.Context, tx pgx.Tx, k *keyed) error {
	if k.Steps == 0 {
		return nil
	}
	var fan int64
	if len(k.fans) > 0 {
		fan = k.fans[0]
	}
	ids := make([][]byte, k.Steps)
	for i := range ids {
		id := onceID(k.Once, fan, i+1)
		ids[i] = id[:]
	}
	_, err := tx.Exec(ctx, `DELETE FROM answers WHERE id = ANY($1)`, ids)
	return err
}

// oldAnswers are answers that are not repeated any more.
var oldAnswers = removal{what: "remove old answers", most: 5000, sql: []string{`
	DELETE FROM answers WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM answers WHERE at <= (SELECT clock_timestamp() - ` + answersKept + `)
		ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED))`}}
