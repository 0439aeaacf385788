package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"fanline/notifier"
	"fanline/waitlist"
)

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
