package web

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// Fan is a fan's contact and preferences as the ticketing app gets them.
type Fan struct {
	FanID string  `json:"fan_id"`
	Email *string `json:"email" nullable:"true" doc:"As it was sent."`
	Phone *string `json:"phone" nullable:"true" doc:"In E.164."`
	Preferences
}

// OwnPreferences are a fan's preferences as the fan app gets them.
type OwnPreferences struct {
	Preferences
	Contact Contact `json:"contact" doc:"What the ticketing app knows; only it can change it."`
}

// Contact is where a fan is reached beside their devices, masked.
type Contact struct {
	Email *string `json:"email" nullable:"true" example:"a…@example.com"`
	Phone *string `json:"phone" nullable:"true" example:"+44…18"`
}

// Preferences are how a fan wants to be told.
type Preferences struct {
	Locale      *string     `json:"locale" nullable:"true" doc:"Null: English."`
	TimeZone    *string     `json:"time_zone" nullable:"true" doc:"Null: the show's."`
	Channels    ChannelsBy  `json:"channels" doc:"Without what the fan unsubscribed from."`
	QuietHours  *DailyHours `json:"quiet_hours"`
	TurnAtNight bool        `json:"turn_at_night" doc:"Turns are told inside the quiet hours too."`
	Digest      *Digest     `json:"digest"`
	OptedOut    []string    `json:"opted_out" nullable:"false" enum:"sms,email" doc:"Channels that are not used: the owner wrote STOP or complained, or the provider calls the address dead."`
}

// TransformSchema says which objects may be null, which tags cannot.
func (Fan) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema { return orNulls(s) }

// TransformSchema is that of Fan.
func (OwnPreferences) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return orNulls(s)
}

func orNulls(s *huma.Schema) *huma.Schema { return orNull(orNull(s, "quiet_hours"), "digest") }

// ChannelsBy are channels by kind.
type ChannelsBy struct {
	Turn         []string `json:"turn" nullable:"false" enum:"live,push,apns,fcm,webpush,sms,email"`
	Announcement []string `json:"announcement" nullable:"false" enum:"live,push,apns,fcm,webpush,sms,email"`
	Message      []string `json:"message" nullable:"false" enum:"live,push,apns,fcm,webpush,sms,email"`
}

// DailyHours is a time of each day by the fan's clock.
type DailyHours struct {
	From string `json:"from" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"22:00"`
	To   string `json:"to" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"07:00" doc:"Equal to from: never quiet."`
}

// Digest is when a fan gets one.
type Digest struct {
	Hour int `json:"hour" minimum:"0" maximum:"23" example:"9" doc:"Of the day by the fan's clock; in UTC without a time_zone."`
}

// PreferencesRequest documents preferencesChange.
type PreferencesRequest struct {
	Locale      *string         `json:"locale,omitempty" nullable:"true" maxLength:"35" doc:"A language and perhaps a country. Null: English."`
	TimeZone    *string         `json:"time_zone,omitempty" nullable:"true" doc:"An IANA name. Null: the show's."`
	Channels    ChannelsRequest `json:"channels,omitempty" doc:"By kind; a kind that is omitted stays. Null, as of a kind, is the default: live and push, for turns also sms and email. push is all three to devices. An empty list is none."`
	QuietHours  DailyHours      `json:"quiet_hours,omitempty" doc:"They hold back all but transactional messages, and turns where turn_at_night is false. Null: none."`
	TurnAtNight *bool           `json:"turn_at_night,omitempty" nullable:"true" default:"true"`
	Digest      Digest          `json:"digest,omitempty" doc:"Null: none."`
}

// TransformSchema says which objects may be null.
func (PreferencesRequest) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return orNull(orNulls(s), "channels")
}

// ChannelsRequest documents the channels of a preferencesChange.
type ChannelsRequest struct {
	Turn         []string `json:"turn,omitempty" nullable:"true" enum:"live,push,apns,fcm,webpush,sms,email"`
	Announcement []string `json:"announcement,omitempty" nullable:"true" enum:"live,push,apns,fcm,webpush,sms,email"`
	Message      []string `json:"message,omitempty" nullable:"true" enum:"live,push,apns,fcm,webpush,sms,email"`
}

// FanRequest documents fanChange.
type FanRequest struct {
	Email *string `json:"email,omitempty" nullable:"true" maxLength:"254" doc:"One mailbox, without a name. Null: none."`
	Phone *string `json:"phone,omitempty" nullable:"true" maxLength:"40" doc:"With its country, or national where locale or time_zone leave no doubt. Null: none."`
	PreferencesRequest
}

// TransformSchema is that of PreferencesRequest.
func (FanRequest) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	return PreferencesRequest{}.TransformSchema(r, s)
}

// preferencesChange is what is sent of them: what is omitted stays.
type preferencesChange struct {
	Locale      waitlist.Opt[string]                            `json:"locale"`
	TimeZone    waitlist.Opt[string]                            `json:"time_zone"`
	Channels    waitlist.Opt[map[string]waitlist.Opt[[]string]] `json:"channels"`
	QuietHours  waitlist.Opt[DailyHours]                        `json:"quiet_hours"`
	TurnAtNight waitlist.Opt[bool]                              `json:"turn_at_night"`
	Digest      waitlist.Opt[struct {
		Hour waitlist.Opt[int] `json:"hour"`
	}] `json:"digest"`
}

// fanChange is what the ticketing app sends of a fan.
type fanChange struct {
	Email waitlist.Opt[string] `json:"email"`
	Phone waitlist.Opt[string] `json:"phone"`
	preferencesChange
}

// apply changes the preferences first: a national number is read by them.
func (c *fanChange) apply(p *delivery.Profile) error {
	if err := c.preferencesChange.apply(p); err != nil {
		return err
	}
	if c.Email.Set {
		if err := p.SetEmail(c.Email.Value); err != nil {
			return err
		}
	}
	if c.Phone.Set {
		return p.SetPhone(c.Phone.Value)
	}
	return nil
}

func (c *preferencesChange) apply(p *delivery.Profile) error {
	c.TurnAtNight.Apply(&p.TurnAtNight, true)
	for _, set := range []struct {
		sent bool
		set  func() error
	}{
		{c.Locale.Set, func() error { return p.SetLocale(c.Locale.Value) }},
		{c.TimeZone.Set, func() error { return p.SetTimeZone(c.TimeZone.Value) }},
		{c.Channels.Set, func() error { return c.applyChannels(p) }},
		{c.QuietHours.Set, func() error { return c.applyQuiet(p) }},
		{c.Digest.Set, func() error { return c.applyDigest(p) }},
	} {
		if !set.sent {
			continue
		}
		if err := set.set(); err != nil {
			return err
		}
	}
	return nil
}

func (c *preferencesChange) applyChannels(p *delivery.Profile) error {
	if c.Channels.Null {
		p.Channels = nil
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Channels.Value)) {
		words := c.Channels.Value[kind]
		if words.Null {
			words.Value = nil
		}
		if err := p.SetChannels(notifier.Kind(kind), words.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *preferencesChange) applyQuiet(p *delivery.Profile) error {
	if c.QuietHours.Null {
		p.Quiet = nil
		return nil
	}
	return p.SetQuiet(c.QuietHours.Value.From, c.QuietHours.Value.To)
}

func (c *preferencesChange) applyDigest(p *delivery.Profile) error {
	if c.Digest.Null {
		p.DigestHour = nil
		return nil
	}
	if hour := c.Digest.Value.Hour; hour.Set && !hour.Null {
		return p.SetDigestHour(hour.Value)
	}
	return waitlist.Wrong("digest.hour", "digest.hour is required, 0 to 23; send digest as null for none")
}

// chosen are the kinds whose channels are named, and the digest where it is.
func (c *preferencesChange) chosen() (kinds []notifier.Kind) {
	for kind, words := range c.Channels.Value {
		if !words.Null {
			kinds = append(kinds, notifier.Kind(kind))
		}
	}
	if c.Digest.Set && !c.Digest.Null {
		kinds = append(kinds, notifier.KindDigest)
	}
	return kinds
}

func (s *Server) profileCalls() {
	call(s, doc("Fans", "PUT", "/v1/fans/{fan}", "put-fan", "Change a fan's contact and preferences: what is omitted stays, null is the default", 400, 413, 415), s.putFan)
	call(s, doc("Fans", "GET", "/v1/fans/{fan}", "get-fan", "A fan's contact and preferences"), s.getFan)
	call(s, doc("Fan", "GET", "/v1/me/preferences", "get-preferences", "Own preferences"), s.getPreferences)
	call(s, doc("Fan", "PUT", "/v1/me/preferences", "put-preferences", "Change the own preferences: what is omitted stays, null is the default", 400, 413, 415), s.putPreferences)
}

type putFan struct {
	FanPath
	Sent[fanChange, FanRequest]
}

func (s *Server) putFan(ctx context.Context, in *putFan) (*Answer[Fan], error) {
	p, err := s.cfg.Recipients.PutProfile(ctx, in.Fan, in.Body.value.apply)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, fanView(in.Fan, &p))
}

func (s *Server) getFan(ctx context.Context, in *FanPath) (*Answer[Fan], error) {
	p, err := s.cfg.Recipients.Profile(ctx, in.Fan)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, fanView(in.Fan, &p))
}

func (s *Server) getPreferences(ctx context.Context, _ *struct{}) (*Answer[OwnPreferences], error) {
	p, err := s.cfg.Recipients.Profile(ctx, fanOf(ctx))
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, ownView(&p))
}

type putPreferences struct {
	Sent[preferencesChange, PreferencesRequest]
}

func (s *Server) putPreferences(ctx context.Context, in *putPreferences) (*Answer[OwnPreferences], error) {
	change := &in.Body.value
	p, err := s.cfg.Recipients.PutProfile(ctx, fanOf(ctx), change.apply, change.chosen()...)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, ownView(&p))
}

func fanView(fan string, p *delivery.Profile) Fan {
	return Fan{FanID: fan, Email: orNil(p.Email), Phone: orNil(p.Phone), Preferences: preferencesView(p)}
}

func ownView(p *delivery.Profile) OwnPreferences {
	return OwnPreferences{preferencesView(p), Contact{masked(notifier.Email, p.Email), masked(notifier.SMS, p.Phone)}}
}

func masked(c notifier.Channel, address string) *string {
	if address == "" {
		return nil
	}
	return orNil(delivery.Mask(c, address))
}

func preferencesView(p *delivery.Profile) Preferences {
	v := Preferences{
		Locale: orNil(p.Locale), TimeZone: orNil(p.TimeZone), TurnAtNight: p.TurnAtNight, OptedOut: []string{},
		Channels: ChannelsBy{
			Turn: wordsView(p, notifier.KindTurn), Announcement: wordsView(p, notifier.KindAnnouncement), Message: wordsView(p, notifier.KindMessage),
		},
	}
	if q := p.Quiet; q != nil {
		v.QuietHours = &DailyHours{delivery.WallTime(q.From), delivery.WallTime(q.To)}
	}
	if p.DigestHour != nil && !slices.Contains(p.OptedOut[notifier.Email], notifier.KindDigest) {
		v.Digest = &Digest{*p.DigestHour}
	}
	for _, c := range []notifier.Channel{notifier.SMS, notifier.Email} {
		if slices.Contains(p.OptedOut[c], "") {
			v.OptedOut = append(v.OptedOut, string(c))
		}
	}
	return v
}

func wordsView(p *delivery.Profile, k notifier.Kind) []string {
	words := slices.Clone(p.Words(k))
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(p.OptedOut[notifier.Channel(w)], k) })
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
