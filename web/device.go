package web

import (
	"context"
	"net/http"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// DeviceID names a device of a fan.
type DeviceID struct {
	Device string `path:"device" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" patternDescription:"1 to 64 of A-Z a-z 0-9 . _ -, a letter or digit first" example:"adas-phone"`
}

// DevicePath names a device and its fan.
type DevicePath struct {
	FanPath
	DeviceID
}

// Device is a device as callers get it.
type Device struct {
	ID           string           `json:"id" example:"adas-phone"`
	Platform     notifier.Channel `json:"platform" enum:"apns,fcm,webpush"`
	Token        string           `json:"token" example:"9f86…d2c1" doc:"Masked."`
	Environment  string           `json:"environment,omitempty" enum:"production,sandbox" doc:"Of apns."`
	Topic        string           `json:"topic,omitempty" doc:"Of apns; without one, the configured app."`
	RegisteredAt notifier.Stamp   `json:"registered_at"`
	Used         bool             `json:"used" doc:"False: the provider does not take the token; it is used again when it is registered again."`
}

// DeviceRequest documents deviceChange.
type DeviceRequest struct {
	Platform    *string  `json:"platform,omitempty" nullable:"true" enum:"apns,fcm,webpush" doc:"Required for a new device."`
	Token       *string  `json:"token,omitempty" nullable:"true" maxLength:"2000" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" doc:"Required for a new device: what the platform gave; for webpush, the subscription's endpoint."`
	Environment *string  `json:"environment,omitempty" nullable:"true" enum:"production,sandbox" default:"production" doc:"Of apns."`
	Topic       *string  `json:"topic,omitempty" nullable:"true" maxLength:"255" doc:"Of apns: the app's bundle id; without one, the configured app."`
	Keys        PushKeys `json:"keys,omitempty" doc:"Of webpush, required."`
}

// PushKeys are a browser's keys of its subscription, base64url.
type PushKeys struct {
	P256dh string `json:"p256dh" example:"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"`
	Auth   string `json:"auth" example:"BTBZMqHH6r4Tts7J_aSIgg"`
}

// deviceChange is what is sent of a device: what is omitted stays.
type deviceChange struct {
	Platform    waitlist.Opt[notifier.Channel] `json:"platform"`
	Token       waitlist.Opt[string]           `json:"token"`
	Environment waitlist.Opt[string]           `json:"environment"`
	Topic       waitlist.Opt[string]           `json:"topic"`
	Keys        waitlist.Opt[PushKeys]         `json:"keys"`

	local bool // see Config.LocalPush
}

// apply changes a device, as registered before or new.
func (c *deviceChange) apply(d *delivery.Device) error {
	if c.Platform.Set && c.Platform.Value != d.Platform {
		*d = delivery.Device{ID: d.ID} // nothing of another platform is of use
	}
	c.Platform.Apply(&d.Platform, "")
	c.Token.Apply(&d.Token, "")
	c.Environment.Apply(&d.Environment, "")
	c.Topic.Apply(&d.Topic, "")
	if c.Keys.Set {
		d.P256dh, d.Auth = c.Keys.Value.P256dh, c.Keys.Value.Auth
	}
	return d.Check(c.local)
}

func (s *Server) deviceCalls() {
	call(s, creating(doc("Fans", "PUT", "/v1/fans/{fan}/devices/{device}", "put-device", "Register a fan's device: its token then is this fan's alone", 400, 413, 415)), s.putDevice)
	call(s, doc("Fans", "GET", "/v1/fans/{fan}/devices/{device}", "get-device", "A fan's device", 404), s.getDevice)
	call(s, doc("Fans", "DELETE", "/v1/fans/{fan}/devices/{device}", "delete-device", "Forget a fan's device"), s.deleteDevice)
	call(s, creating(doc("Fan", "PUT", "/v1/me/devices/{device}", "put-own-device", "Register an own device", 400, 413, 415)), s.putOwnDevice)
	call(s, doc("Fan", "DELETE", "/v1/me/devices/{device}", "delete-own-device", "Forget an own device"), s.deleteOwnDevice)
	key := open(http.MethodGet, webPushKeyPath, "webpush-key", "The key that browsers subscribe to Web Push with", s.jsonResponse(WebPushKey{}))
	key.Tags, key.Errors = []string{"Fan"}, []int{http.StatusNotFound}
	s.plain(key, s.webPushKey)
}

type putDevice struct {
	DevicePath
	Sent[deviceChange, DeviceRequest]
}

func (s *Server) putDevice(ctx context.Context, in *putDevice) (*Answer[Device], error) {
	return s.register(ctx, in.Fan, in.Device, &in.Body.value)
}

type putOwnDevice struct {
	DeviceID
	Sent[deviceChange, DeviceRequest]
}

func (s *Server) putOwnDevice(ctx context.Context, in *putOwnDevice) (*Answer[Device], error) {
	return s.register(ctx, fanOf(ctx), in.Device, &in.Body.value)
}

func (s *Server) register(ctx context.Context, fan, device string, c *deviceChange) (*Answer[Device], error) {
	c.local = s.cfg.LocalPush
	d, created, err := s.cfg.Recipients.PutDevice(ctx, fan, device, c.apply)
	if err != nil {
		return nil, err
	}
	return made(created, deviceView(&d))
}

func (s *Server) getDevice(ctx context.Context, in *DevicePath) (*Answer[Device], error) {
	d, err := s.cfg.Recipients.Device(ctx, in.Fan, in.Device)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, deviceView(&d))
}

func (s *Server) deleteDevice(ctx context.Context, in *DevicePath) (*Nothing, error) {
	return nil, s.cfg.Recipients.ForgetDevice(ctx, in.Fan, in.Device)
}

func (s *Server) deleteOwnDevice(ctx context.Context, in *DeviceID) (*Nothing, error) {
	return nil, s.cfg.Recipients.ForgetDevice(ctx, fanOf(ctx), in.Device)
}

func deviceView(d *delivery.Device) Device {
	return Device{
		ID: d.ID, Platform: d.Platform, Token: delivery.Mask(d.Platform, d.Token), Environment: d.Environment, Topic: d.Topic,
		RegisteredAt: notifier.Stamp(d.RegisteredAt), Used: d.Used,
	}
}

// webPushKeyPath is open to all and, as the fan's part, to the scripts of allowed
// pages.
const webPushKeyPath = "/v1/webpush-key"

// WebPushKey is the application server's public key.
type WebPushKey struct {
	PublicKey string `json:"public_key" example:"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" doc:"Base64url, as PushManager.subscribe takes it."`
}

func (s *Server) webPushKey(w http.ResponseWriter, _ *http.Request) {
	if s.cfg.WebPushKey == "" {
		refuse(waitlist.NotFound, "Web Push is off here: no key is configured").write(w)
		return
	}
	writeJSON(w, http.StatusOK, WebPushKey{s.cfg.WebPushKey})
}
