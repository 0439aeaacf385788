package store_test

import (
	"context"
	"errors"
	"testing"

	"fanline/waitlist"
)

func (b *bench) audits(f waitlist.AuditFilter) []waitlist.Audit {
	b.t.Helper()
	f.Limit = 100
	list, err := b.store.Audits(b.t.Context(), f)
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// by is a context whose change is staff's.
func (b *bench) by(a waitlist.Audit) context.Context {
	a.Who = "kim"
	return waitlist.WithAudit(b.t.Context(), a)
}

func TestAnActIsInTheLogWithItsEffectAndNotWithoutOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("club", waitlist.PolicyChange{})
	b.join("club", "f1", "f2")
	b.free("club", "o1", 1)
	move := func(m waitlist.Move, fan string) error {
		ctx := b.by(waitlist.Audit{Act: waitlist.AuditMoveFront, ShowID: "club", FanID: fan, Reason: "why"})
		_, err := b.ChangeEntry(ctx, "club", fan, waitlist.EntryChange{Move: m, Reason: "why"})
		return err
	}
	if err := move(waitlist.MoveFront, "f2"); err != nil {
		t.Fatal(err)
	}
	log := b.audits(waitlist.AuditFilter{})
	if len(log) != 1 || log[0].Who != "kim" || log[0].ShowID != "club" || log[0].FanID != "f2" || log[0].Reason != "why" || log[0].At.IsZero() {
		t.Fatalf("the log is %+v", log)
	}
	for what, err := range map[string]error{"f1 has no earlier place": move(waitlist.MoveRestore, "f1"), "nobody": move(waitlist.MoveFront, "nobody")} {
		var refusal *waitlist.Error
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", what, err)
		}
	}
	cancel := b.by(waitlist.Audit{Act: waitlist.AuditCancelOpening, ShowID: "club", OpeningID: "o1", Reason: "mistake"})
	for range 3 { // twice without effect
		if err := b.CancelOpening(cancel, waitlist.OpeningRef{ShowID: "club", OpeningID: "o1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Remove(b.by(waitlist.Audit{Act: waitlist.AuditRemove, ShowID: "club", FanID: "nobody"}), "club", "nobody", "x"); err != nil {
		t.Fatal(err)
	}
	if log = b.audits(waitlist.AuditFilter{}); len(log) != 2 || log[0].OpeningID != "o1" {
		t.Errorf("the log is %+v", log)
	}
	// What is not staff's is not there.
	if err := b.Leave(t.Context(), "club", "f1"); err != nil {
		t.Fatal(err)
	}
	if log = b.audits(waitlist.AuditFilter{}); len(log) != 2 {
		t.Errorf("the log is %+v", log)
	}
}

func TestAnActIsUndoneWhenItCannotBeLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("club", waitlist.PolicyChange{})
	b.exec(`ALTER TABLE audit ADD CHECK (who <> 'kim')`)
	if err := b.Pause(b.by(waitlist.Audit{Act: waitlist.AuditPause, ShowID: "club"}), "club", true); err == nil {
		t.Error("no error")
	}
	if s, err := b.Show(t.Context(), "club"); err != nil || s.PausedStaff {
		t.Errorf("paused %v without a word in the log, %v", s.PausedStaff, err)
	}
}

func TestTheLogIsReadPageByPageAndByWhomItWasAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.show("club", waitlist.PolicyChange{})
	b.show("other", waitlist.PolicyChange{})
	b.join("club", "f1")
	for _, show := range []string{"club", "other", "club"} {
		if err := b.Pause(b.by(waitlist.Audit{Act: waitlist.AuditPause, ShowID: show}), show, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Remove(b.by(waitlist.Audit{Act: waitlist.AuditRemove, ShowID: "club", FanID: "f1", Reason: "x"}), "club", "f1", "x"); err != nil {
		t.Fatal(err)
	}
	all := b.audits(waitlist.AuditFilter{})
	if len(all) != 4 {
		t.Fatalf("the log is %+v", all)
	}
	for i, c := range []struct {
		f    waitlist.AuditFilter
		want int
	}{
		{waitlist.AuditFilter{ShowID: "club"}, 3},
		{waitlist.AuditFilter{ShowID: "club", FanID: "f1"}, 1},
		{waitlist.AuditFilter{ShowID: "none"}, 0},
		{waitlist.AuditFilter{FanID: "none"}, 0},
		{waitlist.AuditFilter{Before: all[1].ID}, 2},
	} {
		if got := b.audits(c.f); len(got) != c.want {
			t.Errorf("%d: %d rows, want %d", i, len(got), c.want)
		}
	}
	// Forgetting a fan leaves the act and no person.
	b.exec(`DELETE FROM fans WHERE fan_id = 'f1'`)
	if last := b.audits(waitlist.AuditFilter{})[0]; !last.Erased || last.FanID != "" || last.Act != waitlist.AuditRemove {
		t.Errorf("after erasure: %+v", last)
	}
}
