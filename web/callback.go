package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fanline/delivery"
	"fanline/delivery/callback"
)

// Callbacks take what services tell of deliveries. *delivery.Feedback is one. The
// error of a call that is not genuine is delivery.ErrNotGenuine.
type Callbacks interface {
	Take(ctx context.Context, service string, c *delivery.Call) error
}

// mostCallback is how large a call's body may be.
const mostCallback = 64 << 10

// providersArea is the docs' part of the calls that services make.
const providersArea = "Providers"

// callbackPaths are the services' calls, by path. They bring signatures in place of
// credentials.
var callbackPaths = map[string]string{
	"/v1/callbacks/twilio": "twilio", "/v1/callbacks/email": "email", "/v1/callbacks/push": "push",
}

func (s *Server) callbackCalls() {
	const signed = "Signed as Standard Webhooks says (webhook-id, webhook-timestamp, webhook-signature), with the secret that " +
		"`fanline callback-secrets` prints for it. 403 for a call that is not genuine, is more than 5 minutes off, or uses an id " +
		"again for another body; 204 for one that was taken now or before."
	for _, c := range []struct {
		path, id, summary, text string
		body                    *huma.RequestBody
	}{
		{
			"/v1/callbacks/twilio", "callback-twilio", "Twilio: what became of messages, and what fans wrote back",
			"X-Twilio-Signature over FANLINE_PUBLIC_URL, this path and the query as they came, and the parameters. 403 for a call that is not genuine.",
			&huma.RequestBody{Content: map[string]*huma.MediaType{"application/x-www-form-urlencoded": {
				Schema:  &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "As Twilio sends them."},
				Example: "MessageSid=SM0123456789abcdef&MessageStatus=delivered&AccountSid=AC0123456789abcdef",
			}}},
		},
		{
			"/v1/callbacks/email", "callback-email", "A mail service: delivered, bounced, complained", signed,
			s.jsonBody(EmailCallback{}),
		},
		{
			"/v1/callbacks/push", "callback-push", "The fan app's server: a push was delivered, or opened", signed,
			s.jsonBody(PushCallback{}),
		},
	} {
		op := open(http.MethodPost, c.path, c.id, c.summary, &huma.Response{Description: "Taken, now or before."})
		op.Tags, op.Description, op.RequestBody = []string{providersArea}, c.text, c.body
		op.Responses = map[string]*huma.Response{"204": {Description: "Taken, now or before."}}
		op.Errors = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
		s.plain(op, s.takeCallback)
	}
}

// EmailCallback documents callback.EmailCall.
type EmailCallback struct {
	Event     string `json:"event" enum:"delivered,bounced,complained"`
	MessageID string `json:"message_id" example:"<8f14e45fceea167a5a36dedd4bea2543@tickets.example.com>" doc:"The header as Fanline wrote it."`
	Bounce    string `json:"bounce,omitempty" enum:"permanent,transient,undetermined" doc:"Of a bounce. After a permanent one nothing is sent there any more, unless the code says that it was not about the mailbox."`
	Code      string `json:"code,omitempty" example:"5.1.1" doc:"Of a bounce: the enhanced status code."`
	Email     string `json:"email,omitempty" example:"ada@example.com" doc:"Where it went; without it, the fan's mailbox of now."`
}

// PushCallback documents callback.PushCall.
type PushCallback struct {
	Event    string `json:"event" enum:"delivered,opened" doc:"Opened counts as the fan having seen the item."`
	Delivery string `json:"delivery" example:"8f14e45fceea167a5a36dedd4bea2543" doc:"The delivery's id: the push's collapse id and its notification's tag."`
}

var (
	_ = callback.EmailCall(EmailCallback{})
	_ = callback.PushCall(PushCallback{})
)

func (s *Server) jsonBody(v any) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: s.schemaOf(v)}}}
}

// takeCallback hands a call on as it came: what was signed is checked before
// anything is read out of it, and no header says where it came to.
func (s *Server) takeCallback(w http.ResponseWriter, r *http.Request) {
	body, p := readBody(w, r, false, mostCallback)
	if p != nil {
		p.write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	err := delivery.ErrNotGenuine
	if s.cfg.Callbacks != nil {
		err = s.cfg.Callbacks.Take(ctx, callbackPaths[r.URL.RawPath], &delivery.Call{Query: r.URL.RawQuery, Header: r.Header, Body: body})
	}
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, delivery.ErrNotGenuine):
		refuse(forbidden, "this call is not genuine: see its signature, its time and its id").write(w)
	default:
		s.problem(ctx, fmt.Errorf("take a callback: %w", err)).write(w)
	}
}
