package waitlist

import (
	"context"
	"time"
)

// AuditAct is what somebody of the staff did.
type AuditAct string

// The acts that the audit log holds.
const (
	AuditLogin         AuditAct = "login"
	AuditLogout        AuditAct = "logout"
	AuditPause         AuditAct = "pause"
	AuditResume        AuditAct = "resume"
	AuditMoveFront     AuditAct = "move_front"
	AuditRestore       AuditAct = "restore"
	AuditRemove        AuditAct = "remove"
	AuditGiveTurn      AuditAct = "give_turn"
	AuditCancelOpening AuditAct = "cancel_opening"
	AuditPolicy        AuditAct = "policy"
	AuditTestSeat      AuditAct = "test_seat"
	AuditAnnounce      AuditAct = "announce"
	// AuditJobs is an act on the queue's jobs, which its reason names.
	AuditJobs AuditAct = "jobs"
)

// Audit is one act of the staff: who did what to whom and why, and when. A Store
// writes the one in the context of a call in the transaction of the call's effect.
type Audit struct {
	Who string
	Act AuditAct
	// ShowID, OpeningID and FanID are whom it was done to; empty where it was
	// done to none.
	ShowID    string
	OpeningID string
	FanID     string
	Reason    string

	// Filled in on reading.
	ID int64
	At time.Time
	// Erased says that the fan was forgotten since; FanID is empty then.
	Erased bool
	// ShowName and TimeZone are the show's.
	ShowName, TimeZone string
}

type auditKey struct{}

// WithAudit returns a context whose one change of the line is by staff.
func WithAudit(ctx context.Context, a Audit) context.Context {
	return context.WithValue(ctx, auditKey{}, a)
}

// AuditOf returns the audit that a call carries.
func AuditOf(ctx context.Context) (Audit, bool) {
	a, ok := ctx.Value(auditKey{}).(Audit)
	return a, ok
}

// AuditFilter selects a page of the audit log, newest first.
type AuditFilter struct {
	// ShowID, OpeningID and FanID narrow it where they are not empty. An
	// OpeningID needs its ShowID.
	ShowID, OpeningID, FanID string
	Who                      string // a name of the staff
	Before                   int64  // an Audit's ID; 0: from the newest
	Limit                    int
}

// Seat is one labelled seat of an opening.
type Seat struct {
	Label string
	State string // free, held, confirmed or returned
}

// LoginLimits are how many tries to log in may fail within Window.
type LoginLimits struct {
	Window time.Duration
	// PerPair is for one name from one address. Familiar pairs, which logged in
	// within FamiliarFor, have no other limit: nobody elsewhere can use theirs up.
	PerPair     int
	FamiliarFor time.Duration
	// PerAddress, PerName and InAll are of tries that are not of familiar pairs.
	PerAddress, PerName, InAll int
}
