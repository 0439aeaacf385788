package delivery

import "time"

// Clock tells the database's time: an offset to this machine's monotonic clock,
// never its wall clock.
type Clock interface {
	Now() time.Time
}
