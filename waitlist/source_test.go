package waitlist

import (
	"context"
	"errors"
	"testing"
	"time"
)

// brokenLine fails one of its reads.
type brokenLine struct {
	*fakeLine
	fails string
}

var errRead = errors.New("the database is away")

func (b *brokenLine) is(what string) error {
	if b.fails == what {
		return errRead
	}
	return nil
}

func (b *brokenLine) Groups(ctx context.Context) ([]Group, error) {
	gs, _ := b.fakeLine.Groups(ctx)
	return gs, b.is("groups")
}

func (b *brokenLine) Pages(ctx context.Context, from []From, limit int) ([][]Candidate, error) {
	ps, _ := b.fakeLine.Pages(ctx, from, limit)
	return ps, b.is("pages")
}

func (b *brokenLine) Marks(ctx context.Context, o int64) ([]Mark, error) {
	return []Mark{{Group: Group{Party: 1}, Place: 1}}, b.is("marks")
}

func (b *brokenLine) Changed(context.Context, []Mark) ([]Candidate, error) {
	return nil, b.is("changed")
}

func (b *brokenLine) Told(ctx context.Context, o int64, nos []int64) (map[int64]bool, error) {
	told, _ := b.fakeLine.Told(ctx, o, nos)
	return told, b.is("told")
}

func (b *brokenLine) Entries(ctx context.Context, nos []int64) ([]Candidate, error) {
	return nil, b.is("entries")
}

func (b *brokenLine) Holding(ctx context.Context) ([]Candidate, error) {
	cs, _ := b.fakeLine.Holding(ctx)
	return cs, b.is("holding")
}

func TestDecisionThatCannotReadTheLineDecidesNothing(t *testing.T) {
	for _, fails := range []string{"groups", "pages", "marks", "changed", "told", "entries", "holding"} {
		l := newFakeLine(DefaultPolicy())
		l.join(2, 1, "")
		l.join(1, 2, "")
		l.entry(2).State = Holding
		o := l.record(1, func(o *Opening) { o.Given = []int64{3}; o.Window = time.Second })
		if fails != "entries" {
			o.Given = nil
		}
		if fails == "marks" || fails == "changed" || fails == "told" || fails == "holding" {
			l.mustDecide(t)
			l.now = l.now.Add(time.Minute)
		}
		plan, err := Decide(context.Background(), l.situation(), &brokenLine{l, fails})
		if !errors.Is(err, errRead) || plan != nil {
			t.Errorf("%s: %v, %v", fails, plan, err)
		}
	}
}
