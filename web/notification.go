package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fanline/notifier"
	"fanline/waitlist"
)

// NotificationRequest documents a message for one fan.
type NotificationRequest struct {
	FanID    string         `json:"fan_id" minLength:"1" maxLength:"64"`
	Lane     string         `json:"lane" enum:"transactional,bulk" doc:"How urgent it is. Transactional: what the fan waits for, such as a login code."`
	Type     string         `json:"type" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" doc:"The caller's word for what it is."`
	Title    string         `json:"title" minLength:"1" maxLength:"200" example:"Your code is 402913"`
	Body     string         `json:"body" minLength:"1" maxLength:"4000" example:"It is good for ten minutes." doc:"May have several lines."`
	Data     map[string]any `json:"data,omitempty" nullable:"true" doc:"For the fan app: at most 4 KiB."`
	Channels []string       `json:"channels,omitempty" nullable:"true" enum:"live,apns,fcm,webpush,sms,email,push" doc:"In place of what the fan prefers; push is apns, fcm and webpush."`
	DedupKey string         `json:"dedup_key,omitempty" maxLength:"255" example:"login-7f3c" doc:"The same for the same fan within 24 h of the first is the first one again, whatever the body. Without one it is fan, type, title, body and data, for 60 s."`
	TTLS     int            `json:"ttl_s,omitempty" minimum:"1" maximum:"2419200" example:"600" doc:"After how long it is of no use and is sent no more: by default 600 s for transactional, 86,400 s for bulk. The text of a transactional one is erased then."`
	Inbox    *bool          `json:"inbox,omitempty" doc:"Whether the fan can pick it up in the inbox: by default bulk is there and transactional is not."`
}

// notification is a NotificationRequest as it is read.
type notification struct {
	FanID    string          `json:"fan_id"`
	Lane     notifier.Lane   `json:"lane"`
	Type     string          `json:"type"`
	Title    string          `json:"title"`
	Body     string          `json:"body"`
	Data     json.RawMessage `json:"data"`
	Channels []string        `json:"channels"`
	DedupKey *string         `json:"dedup_key"`
	TTLS     *int            `json:"ttl_s"`
	Inbox    *bool           `json:"inbox"`
}

// NotificationsBatch is several at once, of both lanes.
type NotificationsBatch struct {
	Notifications []NotificationRequest `json:"notifications" maxItems:"1000" nullable:"false"`
}

// rawNotifications keeps the items as they came: each is answered for itself, also
// one that cannot be read.
type rawNotifications struct {
	Notifications []json.RawMessage `json:"notifications"`
}

// NotificationAccepted says that a message is on its way, or was before.
type NotificationAccepted struct {
	ID        string `json:"id" example:"ntf_4PJ2ZK7Q3XWN"`
	Duplicate bool   `json:"duplicate" doc:"It is the first one with its key again; nothing more is sent."`
}

// NotificationResults answers a batch in the order asked.
type NotificationResults struct {
	Results []NotificationResult `json:"results" nullable:"false"`
}

// NotificationResult is the status that a single call would have had, with its
// answer.
type NotificationResult struct {
	status  int
	taken   NotificationAccepted
	problem *Problem
}

// MarshalJSON puts the status beside the fields of the answer.
func (r NotificationResult) MarshalJSON() ([]byte, error) {
	if r.problem != nil {
		return json.Marshal(r.problem)
	}
	return json.Marshal(struct {
		Status int `json:"status"`
		NotificationAccepted
	}{r.status, r.taken})
}

// Schema documents the fields of both forms.
func (NotificationResult) Schema(r huma.Registry) *huma.Schema {
	return resultSchema[NotificationAccepted](r, "The status that a single call would have had, beside its answer or the problem.")
}

// Notification is a message with what became of it.
type Notification struct {
	notifier.Item
	ExpiresAt  notifier.Stamp `json:"expires_at"`
	Erased     bool           `json:"erased" doc:"The texts are gone."`
	Deliveries []Delivery     `json:"deliveries" nullable:"false" doc:"As long as they are kept: 30 days."`
}

// Delivery is one way by which a message goes to one address.
type Delivery struct {
	ID      string           `json:"id" example:"0f6b1c9e5d2a4f7788aa01c3d4e5f607"`
	Channel notifier.Channel `json:"channel" enum:"live,apns,fcm,webpush,sms,email"`
	Address string           `json:"address" example:"+44*******12" doc:"Masked; empty for live."`
	Phase   notifier.Phase   `json:"phase" enum:"accepted,queued,throttled,sent,delivered,opened,failed,bounced,skipped,deduplicated"`
	Phases  []DeliveryPhase  `json:"phases" nullable:"false" doc:"Oldest first."`
}

// DeliveryPhase is a phase that a delivery reached.
type DeliveryPhase struct {
	Phase  notifier.Phase `json:"phase" enum:"accepted,queued,throttled,sent,delivered,opened,failed,bounced,skipped,deduplicated"`
	At     notifier.Stamp `json:"at"`
	Reason string         `json:"reason,omitempty" example:"410 Unregistered"`
}

func (s *Server) notificationCalls() {
	call(s, accepting(doc("Messages", "POST", "/v1/notifications", "notify", "Send a message to a fan", 400, 413, 415)), s.notify)
	call(s, doc("Messages", "POST", "/v1/notifications:batch", "batch-notify",
		"Send up to 1,000 messages, each by its own lane, with an answer for each", 400, 413, 415), s.batchNotify)
	call(s, doc("Messages", "GET", "/v1/notifications/{id}", "get-notification", "A message and its deliveries", 404), s.getNotification)
}

type notify struct {
	Sent[notification, NotificationRequest]
}

func (s *Server) notify(ctx context.Context, in *notify) (*Answer[NotificationAccepted], error) {
	m, err := in.Body.value.message()
	if err != nil {
		return nil, err
	}
	view := func(a []notifier.Accepted) (*Answer[NotificationAccepted], error) {
		status, taken := acceptedView(a[0])
		return answer(status, taken)
	}
	keeps(ctx, view)
	taken, err := s.cfg.Messages.Accept(ctx, metaOf(ctx).key, []notifier.NewMessage{m})
	if err != nil {
		return nil, err
	}
	return view(taken)
}

func acceptedView(a notifier.Accepted) (int, NotificationAccepted) {
	status := http.StatusAccepted
	if a.Duplicate {
		status = http.StatusOK
	}
	return status, NotificationAccepted{ID: a.ID, Duplicate: a.Duplicate}
}

type batchNotify struct {
	Sent[rawNotifications, NotificationsBatch]
}

// batchNotify takes all that can be taken in one transaction; what is wrong with
// the others is named as in a single call.
func (s *Server) batchNotify(ctx context.Context, in *batchNotify) (*Answer[NotificationResults], error) {
	var batch rawNotifications = in.Body.value // named, or staticcheck takes the type for unused
	items := batch.Notifications
	if len(items) > maxBatch {
		return nil, waitlist.Wrong("notifications", "notifications has %d items; at most %d are allowed", len(items), maxBatch)
	}
	results := make([]NotificationResult, len(items))
	var good []notifier.NewMessage
	var at []int
	for i, item := range items {
		m, p := s.readNotification(ctx, i, item)
		if p != nil {
			results[i].problem = p
			continue
		}
		good, at = append(good, m), append(at, i)
	}
	view := func(taken []notifier.Accepted) (*Answer[NotificationResults], error) {
		for j, a := range taken {
			r := &results[at[j]]
			r.status, r.taken = acceptedView(a)
		}
		return answer(http.StatusOK, NotificationResults{results})
	}
	if len(good) == 0 {
		return view(nil)
	}
	keeps(ctx, view)
	taken, err := s.cfg.Messages.Accept(ctx, metaOf(ctx).key, good)
	if err != nil {
		return nil, err
	}
	return view(taken)
}

// readNotification reads one of a batch.
func (s *Server) readNotification(ctx context.Context, i int, item json.RawMessage) (notifier.NewMessage, *Problem) {
	if len(item) == 0 || item[0] != '{' { // null is empty
		at := fmt.Sprintf("notifications[%d]", i)
		return notifier.NewMessage{}, unreadable(FieldError{at, at + " must be an object"})
	}
	var n notification
	if p := decode(item, &n, ""); p != nil {
		return notifier.NewMessage{}, p
	}
	m, err := n.message()
	if err != nil {
		return m, s.problem(ctx, err)
	}
	return m, nil
}

// message checks what was sent and fills in the defaults.
func (n *notification) message() (m notifier.NewMessage, err error) {
	m = notifier.NewMessage{
		FanID: n.FanID, Lane: n.Lane, Type: n.Type, Title: n.Title, Body: n.Body, Data: n.Data,
		TTL: notifier.UrgentTTL, Inbox: false,
	}
	switch n.Lane {
	case notifier.Transactional:
	case notifier.Bulk:
		m.TTL, m.Inbox = notifier.BulkTTL, true
	default:
		return m, waitlist.Wrong("lane", "lane must be transactional or bulk")
	}
	if err := n.check(); err != nil {
		return m, err
	}
	if n.DedupKey != nil {
		m.DedupKey = *n.DedupKey
	}
	if n.TTLS != nil {
		m.TTL = time.Duration(*n.TTLS) * time.Second
	}
	if n.Inbox != nil {
		m.Inbox = *n.Inbox
	}
	if n.Channels == nil {
		return m, nil
	}
	channels, ok := notifier.ChannelsOf(n.Channels)
	if !ok {
		return m, waitlist.Wrong("channels", "channels may hold live, apns, fcm, webpush, sms, email, and push for the three to devices")
	}
	m.Channels = append([]notifier.Channel{}, channels...)
	return m, nil
}

func (n *notification) check() error {
	const longest = int(notifier.MaxTTL / time.Second)
	for _, err := range []error{
		waitlist.CheckFanID("fan_id", n.FanID),
		waitlist.CheckID("type", n.Type),
		waitlist.CheckText("title", n.Title, true, waitlist.MaxTitle),
		waitlist.CheckLines("body", n.Body, true, waitlist.MaxBody),
		waitlist.CheckData("data", n.Data),
	} {
		if err != nil {
			return err
		}
	}
	if n.DedupKey != nil {
		if err := waitlist.CheckText("dedup_key", *n.DedupKey, true, 255); err != nil {
			return err
		}
	}
	if n.TTLS != nil && (*n.TTLS < 1 || *n.TTLS > longest) {
		return waitlist.Wrong("ttl_s", "ttl_s must be 1 to %d seconds", longest)
	}
	return nil
}

type notificationPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" example:"ntf_4PJ2ZK7Q3XWN"`
}

func (s *Server) getNotification(ctx context.Context, in *notificationPath) (*Answer[Notification], error) {
	m, err := s.cfg.Messages.Message(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	deliveries, err := s.cfg.Deliveries.DeliveriesOf(ctx, notifier.ItemRef{Kind: notifier.KindMessage, Ref: m.No}, m.FanNo)
	if err != nil {
		return nil, err
	}
	v := Notification{Item: m.Item, ExpiresAt: notifier.Stamp(m.ExpiresAt), Erased: m.Erased, Deliveries: make([]Delivery, len(deliveries))}
	for i := range deliveries {
		v.Deliveries[i] = deliveryView(&deliveries[i])
	}
	return answer(http.StatusOK, v)
}

func deliveryView(d *notifier.Delivery) Delivery {
	v := Delivery{ID: d.ID, Channel: d.Channel, Address: d.Address, Phase: d.Phase, Phases: make([]DeliveryPhase, len(d.Phases))}
	for i, p := range d.Phases {
		v.Phases[i] = DeliveryPhase(p)
	}
	return v
}
