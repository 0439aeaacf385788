package main

import (
	"context"
	"errors"
	"time"

	"fanline/sim"
	"fanline/waitlist"
	"fanline/web/demo"
)

// stage is the story as the fan page's ticketing app. The page is served before the
// story is made, which needs the address.
type stage struct {
	ready chan struct{}
	story *sim.Story
}

func newStage() *stage { return &stage{ready: make(chan struct{})} }

// set is called once.
func (s *stage) set(story *sim.Story) {
	s.story = story
	close(s.ready)
}

func (s *stage) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// on calls do with the story. What the API refuses is refused with its sentence.
func (s *stage) on(ctx context.Context, do func(*sim.Story) error) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	err := do(s.story)
	if p := (*sim.Problem)(nil); errors.As(err, &p) {
		return waitlist.Refuse(waitlist.Code(p.Code), "%s", p.Detail)
	}
	return err
}

// Scene is what there is to play.
func (s *stage) Scene(ctx context.Context) (out demo.Scene, err error) {
	err = s.on(ctx, func(story *sim.Story) error {
		scene, err := story.Scene(ctx)
		for _, show := range scene.Shows {
			out.Shows = append(out.Shows, demo.Show{
				ID: show.ID, Name: show.Name, Venue: show.Venue, StartsAt: show.StartsAt.Format(time.RFC3339), Waiting: int64(show.Waiting),
			})
		}
		for _, e := range scene.Fans {
			out.Fans = append(out.Fans, demo.Fan{ID: e.FanID, ShowID: e.ShowID, Position: int64(e.Position)})
		}
		return err
	})
	return out, err
}

// Token hands a fan over to the page.
func (s *stage) Token(ctx context.Context, fan string) (token string, err error) {
	err = s.on(ctx, func(story *sim.Story) error {
		var ok bool
		if token, ok = story.HandOver(fan); !ok {
			return waitlist.Refuse(waitlist.NotFound, "there is no fan %q in this demo; choose one at /demo", fan)
		}
		return nil
	})
	return token, err
}

// Pay confirms a claim.
func (s *stage) Pay(ctx context.Context, claim string) error {
	return s.on(ctx, func(story *sim.Story) error { return story.Pay(ctx, claim) })
}

// Join puts a fan into a line.
func (s *stage) Join(ctx context.Context, show, fan string) error {
	return s.on(ctx, func(story *sim.Story) error { return story.JoinByHand(ctx, show, fan) })
}

// Free frees a seat.
func (s *stage) Free(ctx context.Context, show string) error {
	return s.on(ctx, func(story *sim.Story) error { return story.FreeByHand(ctx, show) })
}
