package notifier

// SendRate is how much goes by a channel now, over all instances.
type SendRate struct {
	Channel Channel
	// Sent and Failed are a second.
	Sent, Failed float64
	// Retired are the devices retired in the last day, counted up to RetiredMost
	// over all channels.
	Retired int
}

// RetiredMost bounds the count of devices retired.
const RetiredMost = 10_000
