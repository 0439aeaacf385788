package waitlist

import "context"

// FanStore keeps fans.
type FanStore interface {
	// FindFan returns the number of a fan, or 0 for one who is not known.
	FindFan(ctx context.Context, fan string) (int64, error)
	// EraseFan forgets a fan, and returns the shows whose line it took them out
	// of, also with an error. Unknown: no error. Broken off, it can be done again.
	EraseFan(ctx context.Context, fan string) (shows []int32, err error)
}

// FindFan returns the number of a fan, or 0 for one who is not known.
func (s *Service) FindFan(ctx context.Context, fan string) (int64, error) {
	if err := CheckFanID("fan", fan); err != nil {
		return 0, err
	}
	return s.store.FindFan(ctx, fan)
}

// EraseFan forgets a fan everywhere: they leave each line, a live turn passes on
// and a hold is released. What the line was for others stays as it was; the same
// id named again is a new fan.
func (s *Service) EraseFan(ctx context.Context, fan string) error {
	if err := CheckFanID("fan", fan); err != nil {
		return err
	}
	shows, err := s.store.EraseFan(ctx, fan)
	for _, no := range shows {
		s.clock.Nudge(no)
	}
	return err
}
