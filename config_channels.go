package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"fanline/delivery"
	"fanline/delivery/apns"
	"fanline/delivery/dial"
	"fanline/delivery/email"
	"fanline/delivery/fcm"
	"fanline/delivery/twilio"
	"fanline/delivery/webpush"
	"fanline/notifier"
)

// channelSettings are those of the providers. A channel without any of its own is off.
type channelSettings struct {
	APNsURL    string `name:"apns-url" env:"FANLINE_APNS_URL" help:"APNs' address (default: Apple's; http:// means HTTP/2 in clear)."`
	APNsKey    string `name:"apns-key" env:"FANLINE_APNS_KEY" help:"The .p8 key, or its file."`
	APNsKeyID  string `name:"apns-key-id" env:"FANLINE_APNS_KEY_ID" help:"The key's id."`
	APNsTeamID string `name:"apns-team-id" env:"FANLINE_APNS_TEAM_ID" help:"The team's id."`
	APNsTopic  string `name:"apns-topic" env:"FANLINE_APNS_TOPIC" help:"The app's bundle id, for devices that name none."`

	FCMURL         string `name:"fcm-url" env:"FANLINE_FCM_URL" help:"FCM's address (default: Google's)."`
	FCMCredentials string `name:"fcm-credentials" env:"FANLINE_FCM_CREDENTIALS" help:"The service account's JSON, or its file."`
	FCMProject     string `name:"fcm-project" env:"FANLINE_FCM_PROJECT" help:"The project (default: the credentials')."`

	TwilioURL        string `name:"twilio-url" env:"FANLINE_TWILIO_URL" help:"Twilio's address (default: Twilio's)."`
	TwilioAccountSID string `name:"twilio-account-sid" env:"FANLINE_TWILIO_ACCOUNT_SID" help:"The account."`
	TwilioAuthToken  string `name:"twilio-auth-token" env:"FANLINE_TWILIO_AUTH_TOKEN" help:"Its token."`
	TwilioFrom       string `name:"twilio-from" env:"FANLINE_TWILIO_FROM" help:"The sender: a number, a name or a Messaging Service (MG...)."`

	SMTPAddr     string `name:"smtp-addr" env:"FANLINE_SMTP_ADDR" help:"The mail server, as host:port."`
	SMTPUser     string `name:"smtp-user" env:"FANLINE_SMTP_USER" help:"Who logs in there."`
	SMTPPassword string `name:"smtp-password" env:"FANLINE_SMTP_PASSWORD" help:"With what."`
	SMTPFrom     string `name:"smtp-from" env:"FANLINE_SMTP_FROM" help:"The sender, as Fanline <tickets@example.com>."`
	SMTPTLS      string `name:"smtp-tls" env:"FANLINE_SMTP_TLS" help:"mandatory (default), opportunistic or none."`

	WebPushPublicKey  string `name:"webpush-public-key" env:"FANLINE_WEBPUSH_PUBLIC_KEY" help:"The VAPID key that browsers get (fanline webpush-keys makes a pair)."`
	WebPushPrivateKey string `name:"webpush-private-key" env:"FANLINE_WEBPUSH_PRIVATE_KEY" help:"The other one, or its file."`
	WebPushSubject    string `name:"webpush-subject" env:"FANLINE_WEBPUSH_SUBJECT" help:"Whom push services write to, as mailto:ops@example.com."`
}

// channel is one provider's part of the settings.
type channel struct {
	name notifier.Channel
	// given are the settings, of which one switches the channel on.
	given []string
	// needs is what has to be set for it, for people.
	needs string
	// variables are those behind the fields that New may find wrong.
	variables map[string]string
	make      func() (delivery.Provider, error)
}

func (c *channel) on() bool { return strings.Join(c.given, "") != "" }

// channels are all that Fanline can send by, on or off.
func (s *settings) channels() []*channel {
	return []*channel{s.apns(), s.fcm(), s.webPush(), s.twilio(), s.smtp()}
}

func (s *settings) apns() *channel {
	return &channel{
		name: notifier.APNs, given: []string{s.APNsURL, s.APNsKey, s.APNsKeyID, s.APNsTeamID, s.APNsTopic},
		needs: "FANLINE_APNS_KEY, _KEY_ID, _TEAM_ID and _TOPIC",
		variables: map[string]string{
			"URL": "FANLINE_APNS_URL", "Key": "FANLINE_APNS_KEY", "KeyID": "FANLINE_APNS_KEY_ID",
			"TeamID": "FANLINE_APNS_TEAM_ID", "Topic": "FANLINE_APNS_TOPIC",
		},
		make: func() (delivery.Provider, error) {
			key, err := secret("Key", s.APNsKey)
			if err != nil {
				return nil, err
			}
			return provider(apns.New(apns.Config{URL: s.APNsURL, Key: key, KeyID: s.APNsKeyID, TeamID: s.APNsTeamID, Topic: s.APNsTopic}))
		},
	}
}

func (s *settings) fcm() *channel {
	return &channel{
		name: notifier.FCM, given: []string{s.FCMURL, s.FCMCredentials, s.FCMProject}, needs: "FANLINE_FCM_CREDENTIALS",
		variables: map[string]string{"URL": "FANLINE_FCM_URL", "Credentials": "FANLINE_FCM_CREDENTIALS", "Project": "FANLINE_FCM_PROJECT"},
		make: func() (delivery.Provider, error) {
			credentials, err := secret("Credentials", s.FCMCredentials)
			if err != nil {
				return nil, err
			}
			return provider(fcm.New(fcm.Config{URL: s.FCMURL, Credentials: credentials, Project: s.FCMProject}))
		},
	}
}

func (s *settings) webPush() *channel {
	return &channel{
		name: notifier.WebPush, given: []string{s.WebPushPublicKey, s.WebPushPrivateKey, s.WebPushSubject},
		needs: "FANLINE_WEBPUSH_PUBLIC_KEY, _PRIVATE_KEY and _SUBJECT",
		variables: map[string]string{
			"PublicKey": "FANLINE_WEBPUSH_PUBLIC_KEY", "PrivateKey": "FANLINE_WEBPUSH_PRIVATE_KEY", "Subject": "FANLINE_WEBPUSH_SUBJECT",
		},
		make: func() (delivery.Provider, error) {
			key := s.WebPushPrivateKey
			if strings.ContainsAny(key, "/.") { // base64url has neither
				var err error
				if key, err = secret("PrivateKey", key); err != nil {
					return nil, err
				}
			}
			return provider(webpush.New(webpush.Config{
				PublicKey: s.WebPushPublicKey, PrivateKey: strings.TrimSpace(key), Subject: s.WebPushSubject,
				AllowLoopback: s.forDevelopment(),
			}))
		},
	}
}

// twilioConfig is what Twilio gave, and where it calls back.
func (s *settings) twilioConfig() twilio.Config {
	callback := ""
	if s.PublicURL != "" {
		callback = strings.TrimRight(s.PublicURL, "/") + "/v1/callbacks/twilio"
	}
	return twilio.Config{
		URL: s.TwilioURL, AccountSID: s.TwilioAccountSID, AuthToken: s.TwilioAuthToken, From: s.TwilioFrom, Callback: callback,
	}
}

func (s *settings) twilio() *channel {
	return &channel{
		name: notifier.SMS, given: []string{s.TwilioURL, s.TwilioAccountSID, s.TwilioAuthToken, s.TwilioFrom},
		needs: "FANLINE_TWILIO_ACCOUNT_SID, _AUTH_TOKEN and _FROM",
		variables: map[string]string{
			"URL": "FANLINE_TWILIO_URL", "AccountSID": "FANLINE_TWILIO_ACCOUNT_SID", "AuthToken": "FANLINE_TWILIO_AUTH_TOKEN",
			"From": "FANLINE_TWILIO_FROM", "Callback": "FANLINE_PUBLIC_URL",
		},
		make: func() (delivery.Provider, error) {
			return provider(twilio.New(s.twilioConfig()))
		},
	}
}

func (s *settings) smtp() *channel {
	return &channel{
		name: notifier.Email, given: []string{s.SMTPAddr, s.SMTPUser, s.SMTPPassword, s.SMTPFrom},
		needs: "FANLINE_SMTP_ADDR and _FROM",
		variables: map[string]string{
			"Addr": "FANLINE_SMTP_ADDR", "User": "FANLINE_SMTP_USER", "From": "FANLINE_SMTP_FROM", "TLS": "FANLINE_SMTP_TLS",
		},
		make: func() (delivery.Provider, error) {
			return provider(email.New(email.Config{
				Addr: s.SMTPAddr, User: s.SMTPUser, Password: s.SMTPPassword, From: s.SMTPFrom, TLS: email.TLS(s.SMTPTLS),
			}))
		},
	}
}

// provider keeps a nil pointer from becoming a provider.
func provider[P delivery.Provider](p P, err error) (delivery.Provider, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// secret is textOrFile for a field of a channel.
func secret(field, value string) (string, error) {
	text, err := textOrFile(value)
	if err != nil {
		return "", delivery.BadSetting(field, err.Error())
	}
	return text, nil
}

// forDevelopment says whether browsers reach this instance at this machine alone.
// Then, and never else, Web Push may call services on this machine too.
func (s *settings) forDevelopment() bool {
	u, err := url.Parse(s.PublicURL)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// guard says where connections to addresses that others chose may go: in development,
// to this machine too.
func (s *settings) guard() dial.Guard { return dial.Guard{AllowLoopback: s.forDevelopment()} }

// senders are whom fans opt out of, by channel.
func (s *settings) senders() map[notifier.Channel]string {
	return map[notifier.Channel]string{notifier.SMS: s.TwilioFrom}
}

// providers makes those of the channels that are on, and says which are off and what
// would switch them on. The caller closes them.
func (s *settings) providers(log *slog.Logger) ([]delivery.Provider, error) {
	var all []delivery.Provider
	for _, c := range s.channels() {
		if !c.on() {
			log.Info("a channel is off", "channel", string(c.name), "needs", c.needs)
			continue
		}
		p, err := c.make()
		if err != nil {
			return nil, errors.Join(c.bad(err), closeProviders(all))
		}
		all = append(all, p)
	}
	return all, nil
}

// bad names the variable behind a wrong field.
func (c *channel) bad(err error) error {
	e := (*delivery.SettingError)(nil)
	if !errors.As(err, &e) || c.variables[e.Field] == "" {
		return err
	}
	return &badConfig{c.variables[e.Field], e.What}
}

func closeProviders(all []delivery.Provider) error {
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// checkChannels names the first setting of a channel that is missing or wrong.
func (s *settings) checkChannels() error {
	all, err := s.providers(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return closeProviders(all)
}

// webPushKey is the key for browsers; "" where Web Push is off.
func (s *settings) webPushKey() string { return strings.TrimRight(s.WebPushPublicKey, "=") }

type webPushKeysCommand struct{}

// Run prints a pair of keys.
func (webPushKeysCommand) Run() error {
	public, private, err := webpush.Keys()
	if err != nil {
		return err
	}
	fmt.Printf("FANLINE_WEBPUSH_PUBLIC_KEY=%s\nFANLINE_WEBPUSH_PRIVATE_KEY=%s\n", public, private)
	return nil
}
