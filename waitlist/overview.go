package waitlist

import "time"

// ShowFigures is a show with what happened at it lately.
type ShowFigures struct {
	Show
	// Told counts the turns given today and Claimed the claims made, both since
	// midnight in the show's zone and up to DayMost.
	Told, Claimed int64
	// Pulse is the last hour, the oldest first.
	Pulse [PulseSteps]PulseStep
}

// PulseStep is a stretch of PulseEvery: the turns given and the claims made in it.
type PulseStep struct{ Told, Claimed int64 }

// The bounds of figures.
const (
	PulseSteps = 30
	PulseEvery = 2 * time.Minute
	// DayMost bounds the claims that are counted.
	DayMost = 100_000
)

// Midnight is the last one before now in the show's zone, or in UTC where this
// machine does not know that.
func (s *Show) Midnight(now time.Time) time.Time {
	zone, err := LoadZone(s.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	y, m, d := now.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}
