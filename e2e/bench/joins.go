package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fanline/waitlist"
)

const (
	joinCallers = 512 // goroutines at the store's call, each with joinsEach joins a burst
	joinsEach   = 4
	joinConns   = 256 // HTTP connections, each with joinsEach joins a burst
)

// joinBench measures bursts of joins of fans who are new, each way in a show of its own.
type joinBench struct {
	*bench
	line  *line
	conns callers
	hand  *pgxpool.Conn // the connection of what is done by hand
	shows map[string]int32
	fans  int   // named so far
	event int64 // the last one seen
	// enos is the next entry number of the show filled by hand.
	enos int64

	store, http joinFigures
	rival       pairs // store over rival
}

// joinFigures are those of one way in.
type joinFigures struct {
	pairs   pairs
	cost    cost
	batch   int // the mean size in the last burst
	batches []float64
	floor   cost
}

func joins(ctx context.Context, b *bench) error {
	j := &joinBench{bench: b, shows: map[string]int32{}, enos: 1}
	defer j.close()
	if err := j.open(ctx); err != nil {
		return err
	}
	if err := j.round(ctx); err != nil { // to warm up
		return err
	}
	j.store, j.http, j.rival = joinFigures{batch: j.store.batch}, joinFigures{batch: j.http.batch}, pairs{}
	n := b.times(150)
	b.progress.step()
	for i := range n {
		b.progress.at("rounds", i, n)
		if err := j.round(ctx); err != nil {
			return err
		}
	}
	b.progress.at("rounds", n, n)
	j.conclude()
	return nil
}

func (j *joinBench) open(ctx context.Context) (err error) {
	i, err := j.serve(ctx)
	if err != nil {
		return err
	}
	if j.line, err = j.openLine(ctx, true); err != nil {
		return err
	}
	for _, id := range []string{"store", "http", "hand", "rival"} {
		if j.shows[id], err = j.line.put(ctx, id, `{}`); err != nil {
			return err
		}
	}
	if j.conns, err = dialCallers(ctx, i.url, joinConns); err != nil {
		return err
	}
	j.hand, err = j.db.Acquire(ctx)
	return err
}

func (j *joinBench) close() {
	if j.hand != nil {
		j.hand.Release()
	}
	j.conns.close()
	if j.line != nil {
		j.line.close()
	}
}

// round is one pair of each comparison. What was measured first in one round is so in all: the batches by hand are as
// large as those that ours just made.
func (j *joinBench) round(ctx context.Context) error {
	store, err := j.ours(ctx, "store", joinCallers, &j.store, func(_ int, fan string) error {
		_, _, err := j.line.Join(ctx, "store", waitlist.Join{FanID: fan, Party: 1})
		return err
	})
	if err != nil {
		return err
	}
	if err := j.byHand(ctx, store, joinCallers*joinsEach, &j.store); err != nil {
		return err
	}
	http, err := j.ours(ctx, "http", joinConns, &j.http, func(w int, fan string) error {
		_, err := j.conns[w].post("/v1/shows/http/entries", map[string]string{"fan_id": fan})
		return err
	})
	if err != nil {
		return err
	}
	if err := j.byHand(ctx, http, joinConns*joinsEach, &j.http); err != nil {
		return err
	}
	rival, err := j.oneByOne(ctx)
	j.rival.add(store, rival)
	return err
}

// ours measures a burst and how large its batches were.
func (j *joinBench) ours(ctx context.Context, show string, n int, f *joinFigures, join func(worker int, fan string) error) (perS float64, err error) {
	base := j.names(n * joinsEach)
	err = j.during(ctx, &f.cost, n*joinsEach, func() error {
		took, err := together(n, joinsEach, func(w, i int) error { return join(w, fanID("fan", base+w*joinsEach+i)) })
		perS = rate(n*joinsEach, took)
		return err
	})
	if err != nil {
		return 0, err
	}
	// A batch is one event.
	var batches int
	if err := j.db.QueryRow(ctx, `
		SELECT count(*), coalesce(max(id), $2) FROM events WHERE id > $2 AND type = 'entry.joined' AND show_no = $1`,
		j.shows[show], j.event).Scan(&batches, &j.event); err != nil {
		return 0, err
	}
	if batches == 0 {
		return 0, fmt.Errorf("no joins to show %s were recorded", show)
	}
	f.batch = n * joinsEach / batches
	f.batches = append(f.batches, float64(n*joinsEach)/float64(batches))
	return perS, nil
}

// names reserves n names of fans and returns the first's number.
func (j *joinBench) names(n int) int {
	j.fans += n
	return j.fans - n
}

// byHand measures n joins in batches of the size of f's, on one connection, with nothing but the inserts.
func (j *joinBench) byHand(ctx context.Context, ours float64, n int, f *joinFigures) error {
	return j.during(ctx, &f.floor, n, func() error {
		start := time.Now()
		for done := 0; done < n; {
			size := min(f.batch, n-done)
			if err := j.batchByHand(ctx, size); err != nil {
				return err
			}
			done += size
		}
		f.pairs.add(ours, rate(n, time.Since(start)))
		return nil
	})
}

func (j *joinBench) batchByHand(ctx context.Context, n int) error {
	ids, base := make([]string, n), j.names(n)
	enos := make([]int64, n)
	for i := range ids {
		ids[i], enos[i] = fanID("fan", base+i), j.enos+int64(i)
	}
	rows, err := j.hand.Query(ctx, `
		INSERT INTO fans (fan_id) SELECT DISTINCT id FROM unnest($1::text[]) id ORDER BY id
		ON CONFLICT DO NOTHING RETURNING fan_no`, ids)
	if err != nil {
		return err
	}
	fans, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	j.enos += int64(n)
	// One round trip and one transaction.
	batch := &pgx.Batch{}
	batch.Queue(`UPDATE lines SET next_eno = $2, next_place = $2 WHERE show_no = $1`, j.shows["hand"], j.enos)
	batch.Queue(`
		INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT $1, eno, fan, eno, '', 1, now(), 0 FROM unnest($2::bigint[], $3::bigint[]) AS e (eno, fan)`, j.shows["hand"], enos, fans)
	batch.Queue(`
		INSERT INTO events (at, type, show_no, data)
		VALUES (now(), 'entry.joined', $1, jsonb_build_object('fans', $2::bigint[], 'entries', $3::bigint[]))`, j.shows["hand"], fans, enos)
	return j.hand.SendBatch(ctx, batch).Close()
}

// oneByOne is the rival: a transaction a join, which takes its number from the show's row, in one statement.
func (j *joinBench) oneByOne(ctx context.Context) (float64, error) {
	base := j.names(benchConns)
	took, err := together(benchConns, 1, func(w, _ int) error {
		_, err := j.db.Exec(ctx, `
			WITH f AS (INSERT INTO fans (fan_id) VALUES ($2) RETURNING fan_no),
			l AS (UPDATE lines SET next_eno = next_eno + 1, next_place = next_place + 1 WHERE show_no = $1
				RETURNING next_eno - 1 AS eno, next_place - 1 AS place, decision),
			e AS (INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
				SELECT $1, eno, fan_no, place, '', 1, now(), decision FROM f, l RETURNING eno)
			INSERT INTO events (at, type, show_no, fan_no, data)
			SELECT now(), 'entry.joined', $1, fan_no, jsonb_build_object('entry', eno) FROM f, e`,
			j.shows["rival"], fanID("fan", base+w))
		return err
	})
	return rate(benchConns, took), err
}

func (j *joinBench) conclude() {
	j.report(compare("joins.store", "joins/s", "the same batches by hand", &j.store.pairs, fmt.Sprintf(
		"Service.Join from %d goroutines; %.0f joins a batch on the mean; %s; by hand: %s",
		joinCallers, mean(j.store.batches), &j.store.cost, &j.store.floor)))
	j.report(compare("joins.store", "joins/s", "a transaction a join", &j.rival, fmt.Sprintf(
		"the rival takes its number from one row a show, on %d connections", benchConns)))
	j.report(compare("joins.http", "joins/s", "the same batches by hand", &j.http.pairs, fmt.Sprintf(
		"POST entries on %d connections; %.0f joins a batch on the mean; %s; by hand: %s",
		joinConns, mean(j.http.batches), &j.http.cost, &j.http.floor)))
}
