// Package providers plays the services that bring alerts to phones and mailboxes:
// APNs, FCM, Twilio, a Web Push service and a mail server. Each is a real server on
// loopback, answers as the real one does, and checks what the real one would check:
// tokens and their age, headers, sizes, passwords.
//
//	phones := providers.NewPhones(providers.PhonesConfig{})
//	apns, err := providers.StartAPNs(providers.APNsConfig{Phones: phones})
//	defer apns.Close()
//	// ... FANLINE_APNS_URL = apns.URL(), FANLINE_APNS_KEY = apns.Key()
//	apns.Next("token-1", providers.Answer{Status: 503, Reason: "Shutdown", Accept: true})
//	got, err := phones.Wait(ctx, func(g providers.Got) bool { return g.Address == "token-1" })
//
// Phones are the devices, numbers and mailboxes behind the services: they hold what
// each got, in a log of bounded length, and counts of all of it. A Script, which each
// service has, says what a service answers next to an address. StartAll starts all
// five on the same phones.
//
// Everything may be called concurrently. Close ends a server, its connections and its
// goroutines, and waits for them. The package imports no other part of Fanline.
package providers
