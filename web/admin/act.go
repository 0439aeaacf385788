package admin

import (
	"context"
	"strings"

	"fanline/waitlist"
)

// lineWriter is what staff may change.
type lineWriter interface {
	lineChanger
	Announcer
}

// writer is both halves of a lineWriter.
type writer struct {
	Line
	Announcer
}

type lineChanger interface {
	PutShow(ctx context.Context, id string, c waitlist.ShowChange) (waitlist.Show, bool, error)
	Record(ctx context.Context, show string, o waitlist.NewOpening) (waitlist.Opening, bool, error)
	Pause(ctx context.Context, show string, paused bool) error
	ChangeEntry(ctx context.Context, show, fan string, c waitlist.EntryChange) (waitlist.Entry, error)
	Remove(ctx context.Context, show, fan, reason string) error
	GiveTurn(ctx context.Context, ref waitlist.OpeningRef, fan, reason string) error
	CancelOpening(ctx context.Context, ref waitlist.OpeningRef) error
}

// acts is the one way to the writing half of the line: each act names who does it
// and why, and goes into the audit log with its effect.
type acts struct{ line lineWriter }

// mayBeSilent says which acts need no reason.
func mayBeSilent(act waitlist.AuditAct) bool {
	switch act {
	case waitlist.AuditPause, waitlist.AuditResume, waitlist.AuditTestSeat, waitlist.AuditAnnounce:
		return true
	}
	return false
}

// do carries out one act by whoever is logged in. f makes the one change.
func (x acts) do(ctx context.Context, audit waitlist.Audit, f func(ctx context.Context, line lineWriter, reason string) error) error {
	audit.Who, audit.Reason = whoOf(ctx), strings.TrimSpace(audit.Reason)
	if audit.Who == "" || audit.Act == "" {
		panic("admin: an act without its doer") // staffOnly stands before every page that acts
	}
	if audit.Reason == "" && !mayBeSilent(audit.Act) {
		return waitlist.Wrong("reason", "Write down the reason: it goes into the log and is shown to whoever asks why.")
	}
	if err := waitlist.CheckText("reason", audit.Reason, false, waitlist.MaxReason); err != nil {
		return err
	}
	return f(waitlist.WithAudit(ctx, audit), x.line, audit.Reason)
}
