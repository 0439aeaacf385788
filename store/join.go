package store

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// Join takes up to 1,000 joins to one show in one transaction. New fans are stored
// before it, in a transaction of their own. The line's row is locked before
// places are given, so that places become visible in order. The show's number is
// 0 when there is nothing to decide: a decision after each batch would be one more
// commit under the show's exclusive lock.
func (s *Store) Join(ctx context.Context, show string, batch []waitlist.Join) (joined []waitlist.Joined, no int32, err error) {
	err = untilFansStay(func() error {
		joined, no, err = s.joinOnce(ctx, show, batch)
		if errors.Is(err, errFanGone) {
			batch = unnamed(batch)
		}
		return err
	})
	return joined, no, err
}

// unnamed are joins whose fans are looked up again.
func unnamed(batch []waitlist.Join) []waitlist.Join {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].FanNo = 0
	}
	return batch
}

func (s *Store) joinOnce(ctx context.Context, show string, batch []waitlist.Join) (joined []waitlist.Joined, no int32, err error) {
	batch = slices.Clone(batch)
	if err := s.NameFans(ctx, batch); err != nil {
		return nil, 0, err
	}
	ks, err := s.keyedOf(ctx, joinKeys(batch))
	if err != nil {
		return nil, 0, err
	}
	err = s.inTx(ctx, "join", func(tx pgx.Tx) error {
		no = 0 // of the try before
		refused, err := openKeys(ctx, tx, ks)
		if err != nil {
			return err
		}
		sh, err := showByID(ctx, tx, show)
		if err != nil {
			return err
		}
		if err := sh.Shut(); err != nil {
			return err
		}
		if err := lockShared(ctx, tx, sh.No); err != nil {
			return err
		}
		var asked bool
		if joined, asked, err = s.join(ctx, tx, sh.No, batch, refused); err != nil {
			return err
		}
		if asked {
			no = sh.No
		}
		return s.keepJoins(ctx, tx, joined, ks)
	})
	if err != nil {
		return nil, 0, err
	}
	for i, k := range ks {
		if k != nil && joined[i].Err == nil {
			k.Keep(k.reply)
		}
	}
	s.number(ctx, joined)
	return joined, no, nil
}

// number fills in the positions of the new entries of a batch, which follow on each
// other: one count for all of them. The joins stand, also when it cannot be had.
func (s *Store) number(ctx context.Context, joined []waitlist.Joined) {
	var last int64
	for i := range joined {
		e := &joined[i].Entry
		switch {
		case !joined[i].New || joined[i].Err != nil:
			continue
		case last > 0:
			last++
		default:
			if s.position(ctx, s.pool, e) != nil {
				return
			}
			last = e.Position
		}
		e.Position = last
	}
}

func joinKeys(batch []waitlist.Join) []*waitlist.Once {
	list := make([]*waitlist.Once, len(batch))
	for i := range batch {
		list[i] = batch[i].Once
	}
	return list
}

// keepJoins keeps the answers to those joins that have a key, with the positions
// that others work out after the commit. Those of new entries follow on each other.
func (s *Store) keepJoins(ctx context.Context, tx pgx.Tx, joined []waitlist.Joined, ks []*keyed) error {
	went := make([]*keyed, len(ks))
	var last int64 // the position of the new entry before, once there is one
	for i := range joined {
		j := joined[i]
		if j.New && last > 0 {
			last++
		}
		if ks[i] == nil || j.Err != nil {
			continue
		}
		if j.New && last > 0 {
			j.Entry.Position = last
		} else if err := s.position(ctx, tx, &j.Entry); err != nil {
			return err
		}
		if j.New {
			last = j.Entry.Position
		}
		if err := ks[i].answer(j, j.Entry.FanNo); err != nil {
			return err
		}
		went[i] = ks[i]
	}
	return keepAnswers(ctx, tx, went)
}

// NameFans fills in the numbers of the fans that have none, making those who are new.
func (s *Store) NameFans(ctx context.Context, batch []waitlist.Join) error {
	ids := make([]string, 0, len(batch))
	for i := range batch {
		if batch[i].FanNo == 0 {
			ids = append(ids, batch[i].FanID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	nos, err := s.fanNos(ctx, ids)
	for i := range batch {
		if batch[i].FanNo == 0 {
			batch[i].FanNo = nos[batch[i].FanID]
		}
	}
	return err
}

// join gives places. An entry that stands is returned; one that ended starts
// again at the tail; a dormant one wakes. asked says that the show is to be
// decided. Those refused, by index, are left alone.
func (s *Store) join(ctx context.Context, tx pgx.Tx, no int32, batch []waitlist.Join, refused []error) (joined []waitlist.Joined, asked bool, err error) {
	nos := make([]int64, len(batch))
	for i := range batch {
		nos[i] = batch[i].FanNo
	}
	standing, err := entriesOf(ctx, tx, no, nos)
	if err != nil {
		return nil, false, err
	}
	if len(standing) > 0 {
		if _, err := lockEntries(ctx, tx, no, numbers(standing)); err != nil {
			return nil, false, err
		}
	}
	h, err := lockHead(ctx, tx, no)
	if err != nil {
		return nil, false, err
	}
	// Again under the line's lock: those who joined while this one waited for it.
	if standing, err = entriesOf(ctx, tx, no, nos); err != nil {
		return nil, false, err
	}
	p := planJoins(no, batch, nos, standing, refused, &h)
	asked, err = p.write(ctx, tx, s, h)
	return p.answers, asked, err
}

func numbers(entries map[int64]waitlist.Entry) []int64 {
	enos := make([]int64, 0, len(entries))
	for _, e := range entries {
		enos = append(enos, e.No)
	}
	return enos
}

// head is the line's row, locked.
type head struct {
	moment
	nextEno, nextPlace, frontPlace int64
}

func lockHead(ctx context.Context, tx pgx.Tx, no int32) (h head, err error) {
	if err = tx.QueryRow(ctx,
		`SELECT next_eno, next_place, front_place FROM lines WHERE show_no = $1 FOR UPDATE`, no).
		Scan(&h.nextEno, &h.nextPlace, &h.frontPlace); err != nil {
		return h, err
	}
	h.moment, err = look(ctx, tx, no)
	return h, err
}
