package sim

import (
	"context"
	"fmt"
	"iter"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	clubShow    = "locksmith-tuesday"
	stadiumShow = "vance-reunion"
)

// clubFans are in line in this order.
var clubFans = strings.Fields(`
	ada ben cleo dara eli fay gus hana ivo june
	kofi lena milo nora otto pia quinn rosa sami tess
	uma vera wes xena yuri zoe amir bea carl dina
	emil frida gil heidi iris jonas kira leo maya nils`)

// stadiumFan is the n-th fan of the stadium's line, counted from 1.
func stadiumFan(n int) string { return clubFans[n%len(clubFans)] + "." + strconv.Itoa(n) }

// setClub puts the club show and its forty fans, in order. Those who are waiting
// from an earlier run keep their places; those who bought are at the tail again.
func (s *Story) setClub(ctx context.Context) error {
	starts := s.now().AddDate(0, 0, 3)
	for starts.Weekday() != time.Tuesday {
		starts = starts.AddDate(0, 0, 1)
	}
	err := s.putShow(ctx, clubShow, PutShow{
		Name: "Tuesday night at The Locksmith", Venue: "The Locksmith", StartsAt: at(starts, 20),
	}, s.cfg.ClubWindow)
	if err != nil {
		return err
	}
	for _, fan := range clubFans {
		if _, err := s.app.Join(ctx, clubShow, Join{FanID: fan}); err != nil {
			return fmt.Errorf("set up the club show: %w", err)
		}
	}
	return nil
}

// setStadium puts the stadium show and imports those of its fans who are not in
// it yet.
func (s *Story) setStadium(ctx context.Context) error {
	err := s.putShow(ctx, stadiumShow, PutShow{
		Name: "Marlow Vance: the reunion", Venue: "Harbour Stadium", StartsAt: at(s.now().AddDate(0, 3, 0), 19),
	}, s.cfg.StadiumWindow)
	if err != nil {
		return err
	}
	there, err := s.imported(ctx)
	if err != nil {
		return fmt.Errorf("set up the stadium show: %w", err)
	}
	if missing := s.cfg.Stadium - there; missing > 0 {
		return s.importStadium(ctx, there, missing)
	}
	return nil
}

// importLines is how many fans one import brings. A single stream would vanish into
// the buffers of the socket, and its progress would say little.
const importLines = 20_000

func (s *Story) importStadium(ctx context.Context, there, missing int) error {
	bar := newProgress(s.scr, short(stadiumShow, 9)+" line", missing, s.now)
	defer bar.Stop()
	bar.Set(0)
	for done := 0; done < missing; {
		n := min(importLines, missing-done)
		report, err := s.app.Import(ctx, stadiumShow, stadiumJoins(there+done+1, there+done+n), nil)
		if err == nil && report.Rejected > 0 {
			err = fmt.Errorf("%d fans refused, the first: %v", report.Rejected, report.Errors)
		}
		if err != nil {
			return fmt.Errorf("set up the stadium show: %w", err)
		}
		done += n
		bar.Set(done)
	}
	bar.Done(missing)
	return nil
}

func stadiumJoins(from, to int) iter.Seq[Join] {
	return func(yield func(Join) bool) {
		for n := from; n <= to; n++ {
			if !yield(Join{FanID: stadiumFan(n)}) {
				return
			}
		}
	}
}

// imported is how many of the stadium's fans are there. An import commits its lines
// in order, so what is there is the beginning of the list, and is searched by halves.
func (s *Story) imported(ctx context.Context) (int, error) {
	there := func(n int) (bool, error) {
		_, err := s.app.Entry(ctx, stadiumShow, stadiumFan(n))
		if CodeOf(err) == "not_found" {
			return false, nil
		}
		return err == nil, err
	}
	// The usual answers are all and none; each costs one call.
	for _, end := range []struct {
		n      int
		is     bool
		answer int
	}{{s.cfg.Stadium, true, s.cfg.Stadium}, {1, false, 0}} {
		if ok, err := there(end.n); err != nil || ok == end.is {
			return end.answer, err
		}
	}
	var failed error
	n := sort.Search(s.cfg.Stadium, func(i int) bool {
		ok, err := there(i + 1)
		if err != nil {
			failed = err
		}
		return !ok
	})
	return n, failed
}

func (s *Story) putShow(ctx context.Context, id string, put PutShow, window time.Duration) error {
	put.Policy = &Policy{
		ClaimWindowS: new(int(window / time.Second)),
		HoldS:        new(int(s.cfg.Hold / time.Second)),
	}
	_, err := s.app.PutShow(ctx, id, put)
	if CodeOf(err) == "closed" {
		return fmt.Errorf("the demo's show %s was cancelled in this data directory; start with a fresh one: %w", id, err)
	}
	if err != nil {
		return fmt.Errorf("set up %s: %w", id, err)
	}
	return nil
}

// at is an hour of a day. It is cut to the hour, so that a second start on the same
// day changes nothing.
func at(day time.Time, hour int) time.Time {
	y, m, d := day.Date()
	return time.Date(y, m, d, hour, 0, 0, 0, day.Location()).UTC()
}

// front draws the next fans of the stadium's line who have no socket yet.
func (s *Story) front(ctx context.Context, n int) ([]string, error) {
	s.frontMu.Lock()
	defer s.frontMu.Unlock()
	filter := EntryFilter{AfterPlace: s.frontPlace, Limit: min(n, 500)}
	var fans []string
	for e, err := range s.app.Entries(ctx, stadiumShow, filter) {
		if err != nil {
			return fans, fmt.Errorf("read the front of the line: %w", err)
		}
		// One who holds seats of an earlier start may be back in line in a moment.
		if e.State == "waiting" || e.State == "holding" {
			fans = append(fans, e.FanID)
		}
		if s.frontPlace = e.Place; len(fans) == n {
			break
		}
	}
	return fans, nil
}
