package store

import (
	"context"
	"slices"
	"time"

	"fanline/delivery/live"
	"fanline/notifier"
)

// acceptedMessages is what the event of messages says of them, in parallel lists.
type acceptedMessages struct {
	Fans     []int64 `json:"fans"`
	Messages []int64 `json:"messages"`
}

// messagesFor are the messages of an event for the fans who are here.
func (e *liveEvent) messagesFor(here func(int64) bool) (nos []int64) {
	if e.accepted == nil {
		return nil
	}
	for i, fan := range e.accepted.Fans {
		if i < len(e.accepted.Messages) && here(fan) {
			nos = append(nos, e.accepted.Messages[i])
		}
	}
	return nos
}

// messages are the notices of messages that may still be shown, whether or not
// they are in the inbox.
func (f *Feed) messages(ctx context.Context, nos []int64, now time.Time) ([]live.Notice, error) {
	if len(nos) == 0 {
		return nil, nil
	}
	list, err := f.s.Messages(ctx, nos)
	var notices []live.Notice
	for i := range list {
		m := &list[i]
		shown := m.Channels == nil || slices.Contains(m.Channels, notifier.Live)
		if shown && !m.Erased && m.ExpiresAt.After(now) {
			notices = append(notices, live.Notice{FanNo: m.FanNo, At: time.Time(m.Item.CreatedAt), Item: &m.Item})
		}
	}
	return notices, err
}
