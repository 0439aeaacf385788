package store

import (
	"context"
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

// leavesOutLive is the SQL of whether a fan f wants to hear of a kind by other channels
// than sockets.
func leavesOutLive(kind notifier.Kind) string {
	return `coalesce(NOT f.channels->'` + string(kind) + `' ? '` + string(notifier.Live) + `', false)`
}

// messages are the notices of messages that may still be shown, whether or not they are
// in the inbox, to fans who hear of them over sockets.
func (f *Feed) messages(ctx context.Context, nos []int64, now time.Time) ([]live.Notice, error) {
	if len(nos) == 0 {
		return nil, nil
	}
	rows, err := f.s.pool.Query(ctx, `
		SELECT `+messageColumns+` FROM messages m JOIN fans f ON f.fan_no = m.fan_no
		WHERE m.msg_no = ANY($1) AND NOT m.erased AND m.expires_at > $2
			AND coalesce('`+string(notifier.Live)+`' = ANY(m.channels), NOT `+leavesOutLive(notifier.KindMessage)+`)
		ORDER BY m.msg_no`, nos, now)
	list, err := all(rows, err, scanMessage)
	notices := make([]live.Notice, len(list))
	for i := range list {
		m := &list[i]
		notices[i] = live.Notice{FanNo: m.FanNo, At: time.Time(m.Item.CreatedAt), Item: &m.Item}
	}
	return notices, err
}
