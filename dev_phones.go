package main

import (
	"fmt"

	"fanline/delivery/webpush"
	"fanline/sim/providers"
)

// startPhones starts services in place of Apple's, Google's, Twilio's, a browser's and
// a mail server, and sets all channels to them.
func startPhones(s *settings) (*providers.All, error) {
	all, err := providers.StartAll(providers.NewPhones(providers.PhonesConfig{Keep: 2000}))
	if err != nil {
		return nil, fmt.Errorf("start the phones: %w", err)
	}
	public, private, err := webpush.Keys()
	if err != nil {
		all.Close()
		return nil, fmt.Errorf("make keys for Web Push: %w", err)
	}
	s.channelSettings = channelSettings{
		APNsURL: all.APNs.URL(), APNsKey: all.APNs.Key(), APNsKeyID: providers.APNsKeyID,
		APNsTeamID: providers.APNsTeamID, APNsTopic: providers.APNsTopic,
		FCMURL: all.FCM.URL(), FCMCredentials: all.FCM.Credentials(),
		TwilioURL: all.Twilio.URL(), TwilioAccountSID: providers.TwilioSID,
		TwilioAuthToken: providers.TwilioToken, TwilioFrom: providers.TwilioFrom,
		SMTPAddr: all.SMTP.Addr(), SMTPFrom: providers.MailFrom, SMTPTLS: "none",
		WebPushPublicKey: public, WebPushPrivateKey: private, WebPushSubject: "mailto:dev@fanline.example",
	}
	return all, nil
}
