package web

import (
	"context"
	"encoding/base64"
	"strings"

	"fanline/notifier"
	"fanline/waitlist"
)

const (
	secretPrefix = "whsec_"
	// The bounds of a secret that the caller brings, in bytes.
	minSecret, maxSecret = 24, 64
)

// EndpointGuard says which URLs may be called. dial.Guard is one.
type EndpointGuard interface{ CheckURL(url string) error }

// WebhookEndpoint is where the ticketing app is told of events.
type WebhookEndpoint struct {
	ID           string          `json:"id" example:"box-office"`
	URL          string          `json:"url" example:"https://tickets.example/fanline"`
	Types        []string        `json:"types" nullable:"false" example:"claim.confirmed,claim.released" doc:"Empty: all."`
	Secret       string          `json:"secret,omitempty" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" doc:"Only in the answer to the request that made it."`
	State        string          `json:"state" enum:"enabled,failing,disabled" doc:"Disabled: it answered 410, or failed for about three days. Put it again to go on."`
	Attempts     int             `json:"attempts" example:"0" doc:"Failed ones, of the event that is due."`
	FailingSince *notifier.Stamp `json:"failing_since" nullable:"true"`
	LastError    string          `json:"last_error,omitempty" example:"answered 500"`
	CreatedAt    notifier.Stamp  `json:"created_at"`
}

// WebhookEndpointRequest documents a change of an endpoint.
type WebhookEndpointRequest struct {
	URL    string   `json:"url,omitempty" maxLength:"2000" example:"https://tickets.example/fanline" doc:"https, on the public network. Required for a new endpoint."`
	Types  []string `json:"types,omitempty" nullable:"true" example:"claim.confirmed,claim.released" doc:"Types of the stream's events; null or none: all."`
	Secret string   `json:"secret,omitempty" nullable:"true" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" doc:"whsec_ and 24 to 64 bytes in base64; by default one is made and shown once."`
}

type webhookEndpoint struct {
	URL    waitlist.Opt[string]   `json:"url"`
	Types  waitlist.Opt[[]string] `json:"types"`
	Secret *string                `json:"secret"`
}

// EndpointPath is exported, or what embeds it would not be read.
type EndpointPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" example:"box-office"`
}

func (s *Server) webhookCalls() {
	call(s, creating(doc("Messages", "PUT", "/v1/webhook-endpoints/{id}", "put-webhook-endpoint",
		"Be told of events at a URL, as Standard Webhooks says", 400, 409, 413, 415)), s.putEndpoint)
	call(s, doc("Messages", "GET", "/v1/webhook-endpoints/{id}", "get-webhook-endpoint", "An endpoint and how it does", 404), s.getEndpoint)
	call(s, doc("Messages", "DELETE", "/v1/webhook-endpoints/{id}", "delete-webhook-endpoint", "Be told no more"), s.deleteEndpoint)
}

type putEndpoint struct {
	EndpointPath
	Sent[webhookEndpoint, WebhookEndpointRequest]
}

func (s *Server) putEndpoint(ctx context.Context, in *putEndpoint) (*Answer[WebhookEndpoint], error) {
	change, err := s.endpointChange(&in.Body.value)
	if err != nil {
		return nil, err
	}
	given := change.Secret != nil
	e, created, err := s.cfg.Endpoints.PutEndpoint(ctx, in.ID, change)
	if err != nil {
		return nil, err
	}
	v := endpointView(&e)
	if created && !given {
		v.Secret = secretPrefix + base64.StdEncoding.EncodeToString(e.Secret)
	}
	return made(created, v)
}

// endpointChange checks what was sent.
func (s *Server) endpointChange(b *webhookEndpoint) (c notifier.EndpointChange, err error) {
	if b.URL.Set { // null too, which has no default
		if err := waitlist.CheckText("url", b.URL.Value, true, 2000); err != nil {
			return c, err
		}
		if s.cfg.EndpointGuard.CheckURL(b.URL.Value) != nil {
			return c, waitlist.Wrong("url", "url must be https:// to a host on the public network, without a user in it")
		}
		c.URL = &b.URL.Value
	}
	if b.Types.Set {
		types, err := eventTypes("types", b.Types.Value)
		if err != nil {
			return c, err
		}
		types = append([]notifier.EventType{}, types...)
		c.Types = &types
	}
	if b.Secret != nil {
		text, ok := strings.CutPrefix(*b.Secret, secretPrefix)
		c.Secret, err = base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(c.Secret) < minSecret || len(c.Secret) > maxSecret {
			return c, waitlist.Wrong("secret", "secret must be whsec_ and %d to %d bytes in base64", minSecret, maxSecret)
		}
	}
	return c, nil
}

func (s *Server) getEndpoint(ctx context.Context, in *EndpointPath) (*Answer[WebhookEndpoint], error) {
	e, err := s.cfg.Endpoints.Endpoint(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(200, endpointView(&e))
}

func (s *Server) deleteEndpoint(ctx context.Context, in *EndpointPath) (*Nothing, error) {
	return nil, s.cfg.Endpoints.DeleteEndpoint(ctx, in.ID)
}

func endpointView(e *notifier.Endpoint) WebhookEndpoint {
	v := WebhookEndpoint{
		ID: e.ID, URL: e.URL, Types: make([]string, len(e.Types)), State: "enabled", Attempts: e.Attempts,
		FailingSince: notifier.StampOf(e.FailingSince), LastError: e.LastError, CreatedAt: notifier.Stamp(e.CreatedAt),
	}
	for i, t := range e.Types {
		v.Types[i] = string(t)
	}
	switch {
	case e.DisabledAt != nil:
		v.State = "disabled"
	case e.FailingSince != nil:
		v.State = "failing"
	}
	return v
}
