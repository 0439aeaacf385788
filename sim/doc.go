// Package sim plays the two sides that Fanline serves: the ticketing app, which
// reports freed seats over REST, and the fans, who wait on a WebSocket and answer.
//
//	app := sim.NewApp([]string{"http://127.0.0.1:8080"}, apiKey)
//	_, err := app.Join(ctx, "locksmith-tuesday", sim.Join{FanID: "ada"})
//	ada, err := sim.Connect(ctx, sim.FanConfig{
//		BaseURLs: app.BaseURLs(), Token: sim.Token(secret, "ada", time.Hour),
//	})
//	_, err = app.Free(ctx, "locksmith-tuesday", "seat-1", sim.Free{Quantity: 1, Reason: "returned"})
//	turn, err := ada.WaitItem(ctx, func(i sim.Item) bool { return i.Kind == "turn" })
//	claim, err := ada.Claim(ctx, turn.ShowID, turn.OpeningID)
//
// App is the ticketing app, Me a fan's REST calls, Fan the same with a live socket.
// Story is the demo of "fanline dev": two shows, fans of different tempers, a seat
// freed every few seconds, told line by line. A person may play one of its fans
// (person.go).
//
// The package speaks the public API alone and imports no other package of
// Fanline than its own sim/providers, the services behind phones and mailboxes, so
// that what it can see is what any caller can see.
//
// App, Me and Fan may be used concurrently. Every goroutine ends with the Close or
// Kill of what started it, or with the context of Story.Run; each of these waits for
// them. A refusal by the server is a *Problem,
// found with errors.As or CodeOf.
package sim
