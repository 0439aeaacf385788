package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
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

// joinPlan is what a batch of joins writes.
type joinPlan struct {
	no      int32
	answers []waitlist.Joined
	fresh   []waitlist.Entry // new entries
	back    []waitlist.Entry // entries that start again
	awake   []int64          // entry numbers of dormant ones that act
}

func planJoins(no int32, batch []waitlist.Join, nos []int64, standing map[int64]waitlist.Entry, refused []error, h *head) *joinPlan {
	p := &joinPlan{no: no, answers: make([]waitlist.Joined, len(batch))}
	for i, j := range batch {
		if refused[i] != nil {
			p.answers[i].Err = refused[i]
			continue
		}
		e, ok := standing[nos[i]]
		e.FanID = j.FanID
		switch {
		case !ok:
			e = waitlist.Entry{ShowNo: no, FanNo: nos[i], FanID: j.FanID, No: h.nextEno, JoinedDecision: h.decision}
			h.nextEno++
			p.place(&e, j, h)
			p.fresh = append(p.fresh, e)
			p.answers[i].New = true
		case !e.State.InLine():
			p.place(&e, j, h)
			p.back = append(p.back, e)
			p.answers[i].New = true
		case e.Dormant:
			e.Dormant, e.Missed = false, 0
			p.awake = append(p.awake, e.No)
		}
		standing[nos[i]] = e
		p.answers[i].Entry = e
	}
	return p
}

func (p *joinPlan) place(e *waitlist.Entry, j waitlist.Join, h *head) {
	e.Place, e.Party, e.Tier, e.State = h.nextPlace, j.Party, j.Tier, waitlist.Waiting
	e.Dormant, e.Missed = false, 0
	e.JoinedAt = j.JoinedAt.UTC().Truncate(time.Millisecond)
	if j.JoinedAt.IsZero() {
		e.JoinedAt = h.now.Truncate(time.Millisecond)
	}
	h.nextPlace++
}

func (p *joinPlan) write(ctx context.Context, tx pgx.Tx, s *Store, h head) (asked bool, err error) {
	if len(p.awake) > 0 {
		if err := wake(ctx, tx, p.no, p.awake, h.moment); err != nil {
			return false, err
		}
	}
	if len(p.fresh)+len(p.back) == 0 {
		if len(p.awake) > 0 {
			return askedIfOpen(ctx, tx, p.no, h.now)
		}
		return false, nil
	}
	if _, err := keepFans(ctx, tx, p.joining()); err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, `UPDATE lines SET next_eno = $2, next_place = $3 WHERE show_no = $1`,
		p.no, h.nextEno, h.nextPlace); err != nil {
		return false, err
	}
	if err := insertEntries(ctx, tx, p.fresh); err != nil {
		return false, err
	}
	if err := p.rejoin(ctx, tx, h); err != nil {
		return false, err
	}
	if err := s.record(ctx, tx, p.event(h.now)); err != nil {
		return false, err
	}
	return askedIfOpen(ctx, tx, p.no, h.now)
}

// joining are the fans who get a place, in the order of the plan.
func (p *joinPlan) joining() []int64 {
	var fans []int64
	for _, list := range [][]waitlist.Entry{p.fresh, p.back} {
		for i := range list {
			fans = append(fans, list[i].FanNo)
		}
	}
	return fans
}

// event is one row for the whole batch; readers of the stream take it apart.
func (p *joinPlan) event(now time.Time) event {
	var enos []int64
	for _, list := range [][]waitlist.Entry{p.fresh, p.back} {
		for i := range list {
			enos = append(enos, list[i].No)
		}
	}
	return event{
		Type: notifier.EntryJoined, At: now, ShowNo: p.no,
		Data: map[string]any{"fans": p.joining(), "entries": enos},
	}
}

// columns of a list of entries, for one statement.
type columns struct {
	enos, fans, places []int64
	tiers              []string
	parties            []int16
	joined             []time.Time
}

func columnsOf(es []waitlist.Entry) (c columns) {
	for i := range es {
		e := &es[i]
		c.enos, c.fans, c.places = append(c.enos, e.No), append(c.fans, e.FanNo), append(c.places, e.Place)
		c.tiers, c.parties, c.joined = append(c.tiers, e.Tier), append(c.parties, int16(e.Party)), append(c.joined, e.JoinedAt)
	}
	return c
}

func insertEntries(ctx context.Context, tx pgx.Tx, es []waitlist.Entry) error {
	if len(es) == 0 {
		return nil
	}
	c := columnsOf(es)
	staleFans(tx, es[0].ShowNo, c.fans...)
	_, err := tx.Exec(ctx, `
		INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT $1, eno, fan, place, tier, party, joined, $2
		FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::smallint[], $8::timestamptz[])
			AS e (eno, fan, place, tier, party, joined)`,
		es[0].ShowNo, es[0].JoinedDecision, c.enos, c.fans, c.places, c.tiers, c.parties, c.joined)
	return err
}

func (p *joinPlan) rejoin(ctx context.Context, tx pgx.Tx, h head) error {
	if len(p.back) == 0 {
		return nil
	}
	c := columnsOf(p.back)
	if err := logEntries(ctx, tx, p.no, c.enos, h.moment, "rejoined", ""); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE entries e SET prev_place = e.place, place = c.place, tier = c.tier, party = c.party,
			state = 'waiting', dormant = false, missed = 0, joined_at = c.joined
		FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::smallint[], $6::timestamptz[])
			AS c (eno, place, tier, party, joined)
		WHERE e.show_no = $1 AND e.eno = c.eno`, p.no, c.enos, c.places, c.tiers, c.parties, c.joined)
	return err
}
