package fanout

import (
	"context"
	"strings"

	"fanline/notifier"
	"fanline/waitlist"
)

// AnnouncementStore keeps announcements.
type AnnouncementStore interface {
	// Announce stores the announcement with what its strategy writes and with its
	// event, in one transaction. It returns the one that stands when it is the same,
	// else Conflict; a cancelled show takes no new one and answers Closed.
	Announce(ctx context.Context, show string, a waitlist.NewAnnouncement) (taken waitlist.Announcement, created bool, err error)
}

// Announcer takes announcements: messages to everyone in a show's line. Its methods
// may be called concurrently.
type Announcer struct {
	Store  AnnouncementStore
	Fanout *Fanout
}

// Announce takes an announcement for those who are in the show's line now.
func (x Announcer) Announce(ctx context.Context, show string, a waitlist.NewAnnouncement) (waitlist.Announcement, bool, error) {
	if err := waitlist.CheckID("show", show); err != nil {
		return waitlist.Announcement{}, false, err
	}
	if err := a.Check(); err != nil {
		return waitlist.Announcement{}, false, err
	}
	if err := settleChannels(&a); err != nil {
		return waitlist.Announcement{}, false, err
	}
	taken, created, err := x.Store.Announce(ctx, show, a)
	if err == nil && created {
		x.Fanout.Announced(taken.ShowNo)
	}
	return taken, created, err
}

// settleChannels replaces the words that name channels by the channels.
func settleChannels(a *waitlist.NewAnnouncement) error {
	if a.Channels == nil {
		return nil
	}
	channels, ok := notifier.ChannelsOf(a.Channels)
	if !ok {
		var words []string
		for _, c := range notifier.Channels {
			words = append(words, string(c))
		}
		return waitlist.Wrong("channels", "channels may hold %s, and push for apns, fcm and webpush", strings.Join(words, ", "))
	}
	a.Channels = make([]string, len(channels))
	for i, c := range channels {
		a.Channels[i] = string(c)
	}
	return nil
}
