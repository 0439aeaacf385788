package providers

import "errors"

// All are the five services, on the same phones.
type All struct {
	Phones  *Phones
	APNs    *APNs
	FCM     *FCM
	Twilio  *Twilio
	WebPush *WebPush
	SMTP    *SMTP
}

// StartAll starts them on free ports of loopback. Twilio calls back.
func StartAll(phones *Phones) (*All, error) {
	a := &All{Phones: phones}
	var errs [5]error
	a.APNs, errs[0] = StartAPNs(APNsConfig{Phones: phones})
	a.FCM, errs[1] = StartFCM(FCMConfig{Phones: phones})
	a.Twilio, errs[2] = StartTwilio(TwilioConfig{Phones: phones, Callbacks: true})
	a.WebPush, errs[3] = StartWebPush(WebPushConfig{Phones: phones})
	a.SMTP, errs[4] = StartSMTP(SMTPConfig{Phones: phones})
	if err := errors.Join(errs[:]...); err != nil {
		a.closeThose(errs)
		return nil, err
	}
	return a, nil
}

func (a *All) closeThose(errs [5]error) {
	for i, end := range a.ends() {
		if errs[i] == nil {
			end()
		}
	}
}

func (a *All) ends() [5]func() {
	return [5]func(){a.APNs.Close, a.FCM.Close, a.Twilio.Close, a.WebPush.Close, a.SMTP.Close}
}

// Close ends them.
func (a *All) Close() {
	for _, end := range a.ends() {
		end()
	}
}

// MailFrom is a sender for the mail server's side of an instance.
const MailFrom = "Fanline <tickets@fanline.example>"

// Env are the settings of an instance that sends to these services, without the keys
// of Web Push, which are the instance's own.
func (a *All) Env() map[string]string {
	return map[string]string{
		"FANLINE_APNS_URL": a.APNs.URL(), "FANLINE_APNS_KEY": a.APNs.Key(), "FANLINE_APNS_KEY_ID": APNsKeyID,
		"FANLINE_APNS_TEAM_ID": APNsTeamID, "FANLINE_APNS_TOPIC": APNsTopic,
		"FANLINE_FCM_URL": a.FCM.URL(), "FANLINE_FCM_CREDENTIALS": a.FCM.Credentials(), "FANLINE_FCM_PROJECT": FCMProject,
		"FANLINE_TWILIO_URL": a.Twilio.URL(), "FANLINE_TWILIO_ACCOUNT_SID": TwilioSID,
		"FANLINE_TWILIO_AUTH_TOKEN": TwilioToken, "FANLINE_TWILIO_FROM": TwilioFrom,
		"FANLINE_SMTP_ADDR": a.SMTP.Addr(), "FANLINE_SMTP_FROM": MailFrom, "FANLINE_SMTP_TLS": "none",
	}
}
