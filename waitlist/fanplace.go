package waitlist

import "time"

// FanPlace is a fan's entry at a show, also one that is over.
type FanPlace struct {
	FanEntry
	ShowName, Venue, TimeZone string
	StartsAt                  time.Time
	Cancelled                 bool // the show
}
