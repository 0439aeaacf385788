package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// How long the inputs of verdicts are kept. An entry comes with its position, which
// others change. Members of a wave never change.
const (
	inputFor    = 2 * time.Second
	positionFor = time.Second
	membersFor  = time.Minute
)

// inputs are the parts that verdicts are worked out from: read by q, through the
// cache where there is one. What they return is shared and must not be changed.
type inputs struct {
	s *Store
	q querier
	c *Cache
}

// together runs f on what is committed at one moment.
func (in *inputs) together(ctx context.Context, f func(q querier) error) error {
	if in.c == nil {
		return f(in.q)
	}
	return in.s.snapshot(ctx, f)
}

// show is a show's own row.
func (in *inputs) show(ctx context.Context, id string) (*waitlist.Show, error) {
	return cached(ctx, in.c, showKey(id), inputFor, func(ctx context.Context) (waitlist.Show, error) {
		return showByID(ctx, in.q, id)
	})
}

// openingInput is an opening with its waves.
type openingInput struct {
	waitlist.Opening
	Waves     []waitlist.Wave // newest first
	DecidedAt time.Time       // when the show was last decided
}

func (in *inputs) opening(ctx context.Context, show int32, id string) (*openingInput, error) {
	return cached(ctx, in.c, openingKey(show, id), inputFor, func(ctx context.Context) (o openingInput, err error) {
		err = in.together(ctx, func(q querier) error {
			if o.Opening, err = openingByID(ctx, q, show, id, ""); err != nil {
				return err
			}
			rows, err := q.Query(ctx, `SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = $1 ORDER BY w.n DESC`, o.No)
			if o.Waves, err = all(rows, err, scanWave); err != nil {
				return err
			}
			return q.QueryRow(ctx, `SELECT last_decided_at FROM lines WHERE show_no = $1`, show).Scan(&o.DecidedAt)
		})
		return o, err
	})
}

// wave returns wave n, or nil. Waves are numbered without a gap.
func (o *openingInput) wave(n int) *waitlist.Wave {
	if i := len(o.Waves) - n; i >= 0 && i < len(o.Waves) {
		return &o.Waves[i]
	}
	return nil
}

// toldAfter says whether a wave made after the decision may have told the entry.
func (o *openingInput) toldAfter(decision int64, e *waitlist.Entry) bool {
	for i := range o.Waves {
		w := &o.Waves[i]
		if w.Decision <= decision {
			break
		}
		if w.Size > 0 && (e.Place <= w.WalkedTo || w.WalkedTo == waitlist.NoWalk) {
			return true
		}
	}
	return false
}

// fan is the number of a fan; 0 for one who is not known.
func (in *inputs) fan(ctx context.Context, id string) (int64, error) {
	no, err := cached(ctx, in.c, fanKey(id), inputFor, func(ctx context.Context) (int64, error) {
		return findFan(ctx, in.q, id)
	})
	if err != nil {
		return 0, err
	}
	return *no, nil
}

// entryInput is an entry with its position and all that changes with it alone.
type entryInput struct {
	Entry  waitlist.Entry
	Log    []waitlist.Change // oldest first
	Acts   []entryAct
	Claims []waitlist.Claim
	// Unreached are the openings whose turn lapsed without a channel having taken it.
	Unreached []int64
}

// entryAct is an act on the entry's turn at an opening.
type entryAct struct {
	OpeningNo int64
	waitlist.Act
}

func (e *entryInput) act(opening int64) *waitlist.Act {
	for i := range e.Acts {
		if e.Acts[i].OpeningNo == opening {
			return &e.Acts[i].Act
		}
	}
	return nil
}

func (e *entryInput) claim(opening int64) *waitlist.Claim {
	for i := range e.Claims {
		if e.Claims[i].OpeningNo == opening {
			return &e.Claims[i]
		}
	}
	return nil
}

// entry is a fan's entry in a show, or NotFound.
func (in *inputs) entry(ctx context.Context, show int32, fan string) (*entryInput, error) {
	no, err := in.fan(ctx, fan)
	if err != nil {
		return nil, err
	}
	if no == 0 {
		return nil, neverInLine()
	}
	return cached(ctx, in.c, entryKey(show, no), positionFor, func(ctx context.Context) (e entryInput, err error) {
		err = in.together(ctx, func(q querier) error { return in.s.readEntry(ctx, q, show, no, &e) })
		return e, err
	})
}

func (s *Store) readEntry(ctx context.Context, q querier, show int32, fan int64, e *entryInput) error {
	entries, err := entriesOf(ctx, q, show, []int64{fan})
	if err != nil {
		return err
	}
	var ok bool
	if e.Entry, ok = entries[fan]; !ok {
		return neverInLine()
	}
	if err := s.position(ctx, q, &e.Entry); err != nil {
		return err
	}
	return readActs(ctx, q, e)
}

// readActs reads the log of the entry, and its acts and claims at the openings that
// told it: there are no others. It asks for all of it in one go, since a fan who waits
// has none and costs the way alone.
func readActs(ctx context.Context, q querier, e *entryInput) error {
	const told = `(SELECT m.opening_no FROM wave_members m WHERE m.show_no = $1 AND m.chunk = $3 AND $2 = ANY(m.enos) OFFSET 0) m`
	show, no, chunk := e.Entry.ShowNo, e.Entry.No, e.Entry.No/chunkSize
	batch := &pgx.Batch{}
	batch.Queue(`SELECT `+changeColumns+` FROM entry_log l WHERE l.show_no = $1 AND l.eno = $2 ORDER BY l.id`, show, no).
		Query(into(&e.Log, scanChange))
	batch.Queue(`SELECT t.opening_no, t.state, t.at, t.decision FROM `+told+` JOIN turns t USING (opening_no) WHERE t.eno = $2`, show, no, chunk).
		Query(into(&e.Acts, func(row pgx.CollectableRow) (a entryAct, err error) {
			err = row.Scan(&a.OpeningNo, &a.State, &a.At, &a.Decision)
			return a, err
		}))
	batch.Queue(`SELECT `+claimColumns+` FROM `+told+` JOIN claims c USING (opening_no) WHERE c.eno = $2`, show, no, chunk).
		Query(into(&e.Claims, scanClaim))
	batch.Queue(`SELECT u.opening_no FROM `+told+` JOIN unreached u USING (opening_no) WHERE u.eno = $2`, show, no, chunk).
		Query(into(&e.Unreached, pgx.RowTo[int64]))
	return q.SendBatch(ctx, batch).Close()
}

// into reads the rows of a batch's statement into a list.
func into[T any](list *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*list, err = all(rows, nil, scan)
		return err
	}
}

// chunkInput is who was told in a chunk of entry numbers, at all openings of the
// show, by the decisions up to one.
type chunkInput struct {
	Decision int64
	Rows     []chunkRow
}

// chunkRow are the members of one wave in a chunk.
type chunkRow struct {
	OpeningID string
	N         int
	Enos      []int64
	Ks        []int32
	Parties   []int16
}

func (in *inputs) chunk(ctx context.Context, show int32, no int64) (*chunkInput, error) {
	return cached(ctx, in.c, chunkKey(show, no), inputFor, func(ctx context.Context) (c chunkInput, err error) {
		err = in.together(ctx, func(q querier) error {
			if err := q.QueryRow(ctx, `SELECT decision FROM lines WHERE show_no = $1`, show).Scan(&c.Decision); err != nil {
				return err
			}
			rows, err := q.Query(ctx, `
				SELECT o.opening_id, m.n, m.enos, m.ks, m.parties FROM wave_members m JOIN openings o USING (opening_no)
				WHERE m.show_no = $1 AND m.chunk = $2`, show, no)
			c.Rows, err = all(rows, err, func(row pgx.CollectableRow) (r chunkRow, err error) {
				err = row.Scan(&r.OpeningID, &r.N, &r.Enos, &r.Ks, &r.Parties)
				return r, err
			})
			return err
		})
		return c, err
	})
}

// members are those of a wave, by turn.
func (in *inputs) members(ctx context.Context, w *waitlist.Wave) ([]waitlist.Member, error) {
	if w.Size == 0 {
		return nil, nil
	}
	wave := *w
	list, err := cached(ctx, in.c, membersKey(w.OpeningNo, w.N), membersFor, func(ctx context.Context) ([]waitlist.Member, error) {
		members, err := membersOf(ctx, in.q, []waitlist.Wave{wave})
		return slices.Clip(members[wave.Ref()]), err
	})
	if err != nil {
		return nil, err
	}
	return *list, nil
}
