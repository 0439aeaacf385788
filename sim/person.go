package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scene is what a person may play in the demo.
type Scene struct {
	Shows []Show
	// Fans are the first of the club's line, and some far apart in the stadium's.
	Fans []Entry
}

// sceneClub is how many fans of the club's line are offered.
const sceneClub = 8

// Scene reads the shows that are set up, and fans with their positions.
func (s *Story) Scene(ctx context.Context) (scene Scene, err error) {
	for _, id := range []string{clubShow, stadiumShow} {
		show, err := s.app.GetShow(ctx, id)
		if CodeOf(err) == "not_found" {
			continue // its turn to be set up comes later, or never
		}
		if err != nil {
			return scene, fmt.Errorf("read the scene: %w", err)
		}
		scene.Shows = append(scene.Shows, show)
		fans, err := s.sceneFans(ctx, id)
		if err != nil {
			return scene, fmt.Errorf("read the scene: %w", err)
		}
		scene.Fans = append(scene.Fans, fans...)
	}
	return scene, nil
}

func (s *Story) sceneFans(ctx context.Context, show string) (fans []Entry, err error) {
	if show == clubShow {
		for e, err := range s.app.Entries(ctx, show, EntryFilter{State: "waiting", Limit: sceneClub}) {
			if err != nil || len(fans) == sceneClub {
				return fans, err
			}
			e.ShowID = show
			fans = append(fans, e)
		}
		return fans, nil
	}
	for _, n := range []int{s.cfg.Stadium / 20, s.cfg.Stadium * 6 / 10, s.cfg.Stadium} {
		e, err := s.app.Entry(ctx, show, stadiumFan(max(1, n)))
		if CodeOf(err) == "not_found" {
			continue // not imported yet
		}
		if err != nil {
			return fans, err
		}
		e.ShowID = show
		fans = append(fans, e)
	}
	return fans, nil
}

// HandOver stops playing a fan of the demo, for a person who does, and returns a
// token. It may be called again for the same fan. For anybody else it is false.
func (s *Story) HandOver(fan string) (token string, ok bool) {
	if !s.plays(fan) {
		return "", false
	}
	s.mu.Lock()
	var left []*actor
	if !s.stopping {
		for a := range s.actors {
			if a.name == fan {
				left = append(left, a)
				delete(s.actors, a)
			}
		}
	}
	first := !s.persons[fan]
	s.persons[fan] = true
	for _, a := range left {
		a.leave()
		s.wg.Go(a.fan.Close)
	}
	s.mu.Unlock()
	if first {
		s.tale.tell("", "", verbPlayed, "%s is yours now, on the fan page", fan)
	}
	return Token(s.cfg.JWTSecret, fan, personTTL), true
}

// personTTL is how long a person's token is good; the page renews it.
const personTTL = 10 * time.Minute

// plays says whether a fan is one of the demo's.
func (s *Story) plays(fan string) bool {
	if slices.Contains(clubFans, fan) {
		return true
	}
	_, tail, _ := strings.Cut(fan, ".")
	n, err := strconv.Atoi(tail)
	return err == nil && n >= 1 && n <= s.cfg.Stadium && stadiumFan(n) == fan
}

// played says that a person plays the fan.
func (s *Story) played(fan string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.persons[fan]
}

// FreeByHand reports one freed seat, as a person asked.
func (s *Story) FreeByHand(ctx context.Context, show string) error {
	_, err := s.app.Free(ctx, show, "hand-"+strconv.FormatInt(s.now().UnixMilli(), 10), Free{Quantity: 1, Reason: "returned"})
	return err
}

// Pay confirms a claim, as if its fan had paid.
func (s *Story) Pay(ctx context.Context, claim string) error {
	_, err := s.app.Confirm(ctx, claim)
	return err
}

// JoinByHand puts a fan of the demo into a line again. For anybody else it is a
// Problem.
func (s *Story) JoinByHand(ctx context.Context, show, fan string) error {
	if !s.plays(fan) {
		return &Problem{Status: 404, Code: "not_found", Detail: fan + " is no fan of the demo"}
	}
	_, err := s.app.Join(ctx, show, Join{FanID: fan})
	return err
}
