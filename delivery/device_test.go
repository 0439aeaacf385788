package delivery

import (
	"strings"
	"testing"

	"fanline/notifier"
)

const (
	point  = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	secret = "BTBZMqHH6r4Tts7J_aSIgg"
)

func TestATokenIsOneHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	d := Device{Platform: notifier.APNs, Token: "9F86D081884C7D65"}
	if err := d.Check(false); err != nil || d.Token != "9f86d081884c7d65" || d.Environment != Production {
		t.Errorf("%+v: %v", d, err)
	}
	d = Device{Platform: notifier.WebPush, Token: "https://push.example.com/Send/A", P256dh: strings.NewReplacer("-", "+", "_", "/").Replace(point) + "=", Auth: secret + "=="}
	if err := d.Check(false); err != nil || d.P256dh != point || d.Auth != secret || d.Token != "https://push.example.com/Send/A" {
		t.Errorf("%+v: %v", d, err)
	}
	d = Device{Platform: notifier.FCM, Token: "CaseMatters:APA91", Environment: Production}
	if err := d.Check(false); err != nil || d.Token != "CaseMatters:APA91" || d.Environment != "" {
		t.Errorf("%+v: %v", d, err)
	}
}

func TestAPushServiceIsAPublicHostByName(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]struct{ public, loopback bool }{
		"https://fcm.googleapis.com/fcm/send/x":                 {true, true},
		"https://updates.push.services.mozilla.com/wpush/x":     {true, true},
		"https://push.example.com:8443/x":                       {true, true},
		"http://push.example.com/x":                             {false, false},
		"https://localhost/x":                                   {false, false},
		"http://127.0.0.1:9000/x":                               {false, true},
		"http://[::1]:9000/x":                                   {false, true},
		"https://10.0.0.1/x":                                    {false, false},
		"https://[fd00::1]/x":                                   {false, false},
		"https://169.254.169.254/latest/meta-data":              {false, false},
		"https://8.8.8.8/x":                                     {false, false},
		"https://0x7f000001/x":                                  {false, false},
		"https://redis/x":                                       {false, false},
		"https://db.internal/x":                                 {false, false},
		"https://printer.local./x":                              {false, false},
		"https://user:pass@push.example.com/x":                  {false, false},
		"https://push.example.com/x#y":                          {false, false},
		"https:///x":                                            {false, false},
		"ftp://push.example.com/x":                              {false, false},
		"javascript:alert(1)":                                   {false, false},
		"https://push.example.com\\@evil.example.com/x":         {false, false},
		"https://push.example.com/" + strings.Repeat("x", 2000): {false, false},
	} {
		for loopback, ok := range map[bool]bool{false: want.public, true: want.loopback} {
			d := Device{Platform: notifier.WebPush, Token: endpoint, P256dh: point, Auth: secret}
			if err := d.Check(loopback); (err == nil) != ok {
				t.Errorf("%.60s with loopback %v: %v", endpoint, loopback, err)
			} else if err != nil {
				wants(t, endpoint, err, "token")
			}
		}
	}
}
