package web

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fanline/notifier"
	"fanline/waitlist"
)

// ShowPath names a show.
type ShowPath struct {
	Show string `path:"show" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" patternDescription:"1 to 64 of A-Z a-z 0-9 . _ -, a letter or digit first" example:"tuesday-42"`
}

// Show is a show as callers get it.
type Show struct {
	ID            string              `json:"id" example:"tuesday-42"`
	Name          string              `json:"name" example:"Tuesday Night"`
	Venue         string              `json:"venue" example:"The Locksmith"`
	StartsAt      notifier.Stamp      `json:"starts_at" example:"2026-09-01T19:30:00.000Z"`
	SalesCloseAt  *notifier.Stamp     `json:"sales_close_at" nullable:"true" doc:"Null: at the start."`
	TimeZone      string              `json:"time_zone" example:"Europe/London"`
	URL           string              `json:"url" example:"https://tickets.example/{show}/{opening}"`
	Paused        bool                `json:"paused" doc:"By the ticketing app."`
	PausedByStaff bool                `json:"paused_by_staff"`
	Policy        Policy              `json:"policy"`
	Templates     map[string]Wordings `json:"templates"`
	Cancelled     bool                `json:"cancelled"`
	Waiting       int64               `json:"waiting" doc:"How many are waiting."`
	Strategy      waitlist.Strategy   `json:"strategy" enum:"write,read" doc:"What an opening recorded now would get."`
	OpeningsOpen  int                 `json:"openings_open"`
}

// Wordings are the texts of one kind by locale.
type Wordings map[string]waitlist.Template

// Policy is a show's policy in full.
type Policy struct {
	Mode         waitlist.Mode     `json:"mode" enum:"turns,everyone" example:"turns"`
	FansPerSeat  float64           `json:"fans_per_seat" minimum:"1" maximum:"100" example:"1"`
	ClaimWindowS int               `json:"claim_window_s" minimum:"1" maximum:"604800" example:"600"`
	HoldS        int               `json:"hold_s" minimum:"1" maximum:"86400" example:"600"`
	ReleasePerS  float64           `json:"release_per_s" exclusiveMinimum:"0" maximum:"10000" example:"50"`
	MaxMissed    int               `json:"max_missed" minimum:"0" maximum:"1000" example:"3"`
	Strategy     waitlist.Strategy `json:"strategy" enum:"auto,write,read" example:"auto"`
	QuietHours   *QuietHours       `json:"quiet_hours"`
}

// TransformSchema says that quiet_hours may be null, which tags cannot.
func (Policy) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return orNull(s, "quiet_hours")
}

// QuietHours is a daily time in which no turn opens.
type QuietHours struct {
	From string `json:"from" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"22:00"`
	To   string `json:"to" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"08:00" doc:"Equal to from: never quiet."`
	Zone string `json:"time_zone" example:"Europe/London"`
}

// ShowRequest documents waitlist.ShowChange.
type ShowRequest struct {
	Name         *string             `json:"name,omitempty" nullable:"true" maxLength:"200" example:"Tuesday Night" doc:"Required for a new show."`
	Venue        *string             `json:"venue,omitempty" nullable:"true" maxLength:"200" example:"The Locksmith" doc:"Required for a new show."`
	StartsAt     *time.Time          `json:"starts_at,omitempty" nullable:"true" example:"2026-09-01T19:30:00Z" doc:"Required for a new show."`
	SalesCloseAt *time.Time          `json:"sales_close_at,omitempty" nullable:"true" doc:"Not after starts_at, which is the default."`
	TimeZone     *string             `json:"time_zone,omitempty" nullable:"true" default:"UTC" example:"Europe/London" doc:"An IANA name."`
	URL          *string             `json:"url,omitempty" nullable:"true" maxLength:"2000" pattern:"^(https?://.*)?$" doc:"Where fans buy; may hold {show} and {opening}."`
	Paused       *bool               `json:"paused,omitempty" nullable:"true" default:"false" doc:"While paused nothing is decided."`
	Policy       PolicyRequest       `json:"policy,omitempty"`
	Templates    map[string]Wordings `json:"templates,omitempty" nullable:"true" doc:"Texts by kind (turn, result, or a result by its state such as result.filled) and locale, with {show} {venue} {seats} {minutes} {closes_at} {url}."`
}

// TransformSchema says that policy may be null.
func (ShowRequest) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return orNull(s, "policy")
}

// PolicyRequest documents waitlist.PolicyChange.
type PolicyRequest struct {
	Mode         *string    `json:"mode,omitempty" nullable:"true" enum:"turns,everyone" default:"turns"`
	FansPerSeat  *float64   `json:"fans_per_seat,omitempty" nullable:"true" minimum:"1" maximum:"100" default:"1" doc:"At most three decimals."`
	ClaimWindowS *int       `json:"claim_window_s,omitempty" nullable:"true" minimum:"1" maximum:"604800" default:"600"`
	HoldS        *int       `json:"hold_s,omitempty" nullable:"true" minimum:"1" maximum:"86400" default:"600"`
	ReleasePerS  *float64   `json:"release_per_s,omitempty" nullable:"true" minimum:"0.001" maximum:"10000" default:"50" doc:"At most three decimals."`
	MaxMissed    *int       `json:"max_missed,omitempty" nullable:"true" minimum:"0" maximum:"1000" default:"3" doc:"0: never dormant."`
	Strategy     *string    `json:"strategy,omitempty" nullable:"true" enum:"auto,write,read" default:"auto"`
	QuietHours   QuietHours `json:"quiet_hours,omitempty"`
}

// TransformSchema says that quiet_hours may be null.
func (PolicyRequest) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return orNull(s, "quiet_hours")
}

// orNull lets a property that is an object be null too.
func orNull(s *huma.Schema, name string) *huma.Schema {
	s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{s.Properties[name], {Type: "null"}}}
	return s
}

func (s *Server) showCalls() {
	call(s, creating(doc("Shows", "PUT", "/v1/shows/{show}", "put-show", "Make or change a show: what is omitted stays, null is the default", 400, 410, 413, 415)), s.putShow)
	call(s, doc("Shows", "GET", "/v1/shows", "list-shows", "Shows by id"), s.listShows)
	call(s, doc("Shows", "GET", "/v1/shows/{show}", "get-show", "A show", 404), s.getShow)
	call(s, doc("Shows", "DELETE", "/v1/shows/{show}", "cancel-show", "Cancel a show and each of its openings, with their notices", 404), s.cancelShow)
}

type putShow struct {
	ShowPath
	Sent[waitlist.ShowChange, ShowRequest]
}

func (s *Server) putShow(ctx context.Context, in *putShow) (*Answer[Show], error) {
	change := in.Body.value
	maps.DeleteFunc(change.Templates.Value, func(_ string, byLocale map[string]waitlist.Template) bool {
		return len(byLocale) == 0 // null too: the built-in text
	})
	if err := checkTemplates(change.Templates.Value); err != nil {
		return nil, err
	}
	show, created, err := s.cfg.Lines.PutShow(ctx, in.Show, change)
	if err != nil {
		return nil, err
	}
	return made(created, showView(&show))
}

var localeName = regexp.MustCompile(`^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}$`)

// checkTemplates looks at the names, which the rules of the line leave open.
func checkTemplates(t waitlist.Templates) error {
	for _, kind := range slices.Sorted(maps.Keys(t)) {
		if !notifier.HasText(kind) {
			return waitlist.Wrong("templates."+child("", kind), "there is no text of this kind; the kinds are %s", strings.Join(notifier.TextKinds(), ", "))
		}
		for locale := range t[kind] {
			if !localeName.MatchString(locale) {
				return waitlist.Wrong("templates."+kind, "templates.%s is by locale, such as en or de-CH", kind)
			}
		}
	}
	return nil
}

type listShows struct{ PageQuery }

func (s *Server) listShows(ctx context.Context, in *listShows) (*Answer[List[Show]], error) {
	at, _, err := parseCursor(in.Cursor, "shows")
	if err != nil {
		return nil, err
	}
	shows, err := s.cfg.Lines.Shows(ctx, at.ID, in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answer(200, page(shows, in.Limit, showView, func(s *waitlist.Show) cursor {
		return cursor{Of: "shows", ID: s.ID}
	}))
}

func (s *Server) getShow(ctx context.Context, in *ShowPath) (*Answer[Show], error) {
	show, err := s.cfg.Lines.Show(ctx, in.Show)
	if err != nil {
		return nil, err
	}
	return answer(200, showView(&show))
}

func (s *Server) cancelShow(ctx context.Context, in *ShowPath) (*Nothing, error) {
	return nil, s.cfg.Lines.CancelShow(ctx, in.Show)
}

func showView(s *waitlist.Show) Show {
	v := Show{
		ID: s.ID, Name: s.Name, Venue: s.Venue, StartsAt: notifier.Stamp(s.StartsAt), SalesCloseAt: notifier.StampOf(s.SalesCloseAt),
		TimeZone: s.TimeZone, URL: s.URL, Paused: s.PausedApp, PausedByStaff: s.PausedStaff,
		Policy: policyView(s.Policy), Templates: make(map[string]Wordings, len(s.Templates)),
		Cancelled: s.Cancelled, Waiting: s.Waiting, Strategy: s.Strategy, OpeningsOpen: s.OpeningsOpen,
	}
	for kind, locales := range s.Templates {
		v.Templates[kind] = locales
	}
	return v
}

func policyView(p waitlist.Policy) Policy {
	v := Policy{
		Mode: p.Mode, FansPerSeat: p.FansPerSeat.Float(), ClaimWindowS: p.ClaimWindowS, HoldS: p.HoldS,
		ReleasePerS: p.ReleasePerS.Float(), MaxMissed: p.MaxMissed, Strategy: p.Strategy,
	}
	if q := p.QuietHours; q != nil {
		v.QuietHours = &QuietHours{q.From, q.To, q.Zone}
	}
	return v
}
