package notifier

import "github.com/riverqueue/river"

// DigestArgs is a chunk of the digests of one hour of a zone: the fans numbered above
// From, up to To, on a day of theirs.
type DigestArgs struct {
	Day   string `json:"day"` // as 2026-11-30
	Zone  string `json:"zone"`
	Hour  int    `json:"hour"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Again bool   `json:"-"`
}

// Kind names the job.
func (DigestArgs) Kind() string { return "digest" }

// DigestJob is the job of a chunk.
func DigestJob(a DigestArgs) river.InsertManyParams {
	return river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{Queue: ChannelQueue(Bulk, Email), MaxAttempts: attemptsMost}}
}
