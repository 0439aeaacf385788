package webtest

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"fanline/delivery"
	"fanline/notifier"
)

// unsubscribeLink is the path of the one-click opt-out of a mailbox.
func (in *instance) unsubscribeLink(email string, k notifier.Kind) string {
	in.t.Helper()
	token, err := in.store.UnsubscribeToken(in.t.Context(), delivery.Address{Channel: notifier.Email, To: email}, k)
	if err != nil {
		in.t.Fatal(err)
	}
	return "/u/" + token
}

func TestScannersThatFollowALinkUnsubscribeNobodyAndThePostDoes(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.app("PUT", "/v1/fans/ada", `{"email":"Ada@Example.com"}`).want(200)
	link := in.unsubscribeLink("ada@example.com", notifier.KindTurn)
	turns := func() string {
		return fmt.Sprint(in.fan("ada", "GET", "/v1/me/preferences", "").want(200).get("channels").(map[string]any)["turn"])
	}
	for range 5 {
		in.call("", "GET", link, "").want(200)
		in.call("", "HEAD", link, "").want(200)
	}
	if got := turns(); !strings.Contains(got, "email") {
		t.Fatalf("a look unsubscribed: %s", got)
	}
	in.call("", "POST", link, "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded").want(200)
	in.call("", "POST", link, "").want(200)
	if got := turns(); strings.Contains(got, "email") || !strings.Contains(got, "push") || !strings.Contains(got, "sms") {
		t.Errorf("turns by %s", got)
	}
	in.call("", "POST", link[:len(link)-1], "").want(404)
	// The fan changes their mind.
	in.fan("ada", "PUT", "/v1/me/preferences", `{"channels":{"turn":["live","email"]}}`).want(200)
	if got := turns(); !strings.Contains(got, "email") {
		t.Errorf("turns by %s", got)
	}
}

func TestFansWhoRegisterOneTokenAtOnceLeaveOneOwner(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	other := instanceOn(t, in.url)
	fans := []string{"ada", "ben"}
	var wg sync.WaitGroup
	for i := range 100 {
		at := []*instance{in, other}[i/2%2]
		wg.Go(func() {
			a := at.fan(fans[i%2], "PUT", "/v1/me/devices/phone", `{"platform":"apns","token":"9f86d081884c7d659a2feaa0c55ad015"}`)
			if a.status != 200 && a.status != 201 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	owners := map[int]int{}
	for _, fan := range fans {
		owners[in.app("GET", "/v1/fans/"+fan+"/devices/phone", "").status]++
	}
	if owners[200] != 1 || owners[404] != 1 {
		t.Errorf("answers %v", owners)
	}
}

func TestSigningOutAndErasingForgetDevices(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	for _, device := range []string{"phone", "tablet", "watch"} {
		in.app("PUT", "/v1/fans/ada/devices/"+device, `{"platform":"fcm","token":"token-of-`+device+`"}`).want(201)
		in.app("PUT", "/v1/fans/ada/devices/"+device, `{"platform":"fcm","token":"token-of-`+device+`"}`).want(200)
	}
	left := func() (n int) {
		for _, device := range []string{"phone", "tablet", "watch"} {
			if in.app("GET", "/v1/fans/ada/devices/"+device, "").status == 200 {
				n++
			}
		}
		return n
	}
	for range 2 {
		in.app("POST", "/v1/fans/ada/sign-out", `{"device":"phone"}`).want(204)
		if left() != 2 {
			t.Errorf("%d devices are left", left())
		}
	}
	in.fan("ada", "DELETE", "/v1/me/devices/tablet", "").want(204)
	in.app("POST", "/v1/fans/ada/sign-out", "").want(204)
	if left() != 0 {
		t.Errorf("%d devices are left", left())
	}
	in.app("PUT", "/v1/fans/ada/devices/phone", `{"platform":"fcm","token":"token-of-phone"}`).want(201)
	in.app("PUT", "/v1/fans/ada", `{"email":"ada@example.com","phone":"+442079460018"}`).want(200)
	in.app("DELETE", "/v1/fans/ada", "").want(204)
	if left() != 0 {
		t.Error("an erased fan has a device")
	}
	if got := in.app("GET", "/v1/fans/ada", "").want(200); got.get("email") != nil || got.get("phone") != nil {
		t.Errorf("an erased fan has %s", got.body)
	}
}

// contactOf gives the fan who is to be erased all that leads to them.
func contactOf(in *instance, fan string) {
	in.t.Helper()
	path := "/v1/fans/" + url.PathEscape(fan)
	in.app("PUT", path, `{"email":"`+fan+`","phone":"`+phoneOfErased+`","locale":"en-GB","time_zone":"Europe/London"}`).want(200)
	in.app("PUT", path+"/devices/"+deviceOfErased, `{"platform":"fcm","token":"`+fan+`-token"}`).want(201)
	in.app("PUT", path+"/devices/moved", `{"platform":"fcm","token":"`+fan+`-moved"}`).want(201)
	in.app("PUT", "/v1/fans/ben/devices/moved", `{"platform":"fcm","token":"another"}`).want(201)
	in.app("PUT", path+"/devices/moved-again", `{"platform":"fcm","token":"`+fan+`-moved"}`).want(201)
	in.call("", "POST", in.unsubscribeLink(fan, notifier.KindMessage), "").want(200)
}
