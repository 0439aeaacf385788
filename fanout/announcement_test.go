package fanout_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"fanline/fanout"
	"fanline/waitlist"
)

// fakeAnnouncements keeps what it is given.
type fakeAnnouncements struct {
	kept []waitlist.NewAnnouncement
	err  error
}

func (f *fakeAnnouncements) Announce(_ context.Context, _ string, a waitlist.NewAnnouncement) (waitlist.Announcement, bool, error) {
	created := !slices.ContainsFunc(f.kept, func(b waitlist.NewAnnouncement) bool { return a.ID == b.ID })
	f.kept = append(f.kept, a)
	return waitlist.Announcement{ShowNo: 7, ID: a.ID}, created, f.err
}

func TestANewAnnouncementIsOnePublish(t *testing.T) {
	t.Parallel()
	w, s := &fakeWaker{}, &fakeAnnouncements{}
	f := fanout.New(w, slog.New(slog.DiscardHandler))
	x := fanout.Announcer{Store: s, Fanout: f}
	for i, created := range []bool{true, false} {
		_, got, err := x.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: "a", Title: "T", Body: "B"})
		if err != nil || got != created {
			t.Errorf("call %d: created %t, %v", i, got, err)
		}
		f.Wait()
	}
	s.err = waitlist.Refuse(waitlist.Closed, "over")
	if _, _, err := x.Announce(t.Context(), "s", waitlist.NewAnnouncement{ID: "b", Title: "T", Body: "B"}); waitlist.CodeOf(err) != waitlist.Closed {
		t.Errorf("refused with %v", err)
	}
	f.Wait()
	if w.all != 1 || len(w.fans) != 0 {
		t.Errorf("woke all %d times and fans %v, want all once", w.all, w.fans)
	}
}

func TestAnAnnouncementNamesChannelsInAnyOrder(t *testing.T) {
	t.Parallel()
	s := &fakeAnnouncements{}
	x := fanout.Announcer{Store: s, Fanout: fanout.New(&fakeWaker{}, slog.New(slog.DiscardHandler))}
	for _, c := range []struct{ asked, want []string }{
		{nil, nil},
		{[]string{}, []string{}},
		{[]string{"sms", "push", "fcm"}, []string{"apns", "fcm", "sms", "webpush"}},
	} {
		if _, _, err := x.Announce(t.Context(), "s", waitlist.NewAnnouncement{Title: "T", Body: "B", Channels: c.asked}); err != nil {
			t.Fatal(err)
		}
		got := s.kept[len(s.kept)-1].Channels
		if !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("asked for %q, kept %q, want %q", c.asked, got, c.want)
		}
	}
	x.Fanout.Wait()
	n := len(s.kept)
	for name, bad := range map[string]waitlist.NewAnnouncement{
		"a channel": {Title: "T", Body: "B", Channels: []string{"pigeon"}},
		"no title":  {Body: "B"},
	} {
		if _, _, err := x.Announce(t.Context(), "s", bad); waitlist.CodeOf(err) != waitlist.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := x.Announce(t.Context(), "no such id", waitlist.NewAnnouncement{Title: "T", Body: "B"}); waitlist.CodeOf(err) != waitlist.Invalid {
		t.Errorf("a show's id: %v", err)
	}
	if len(s.kept) != n {
		t.Error("what is refused was stored")
	}
}
