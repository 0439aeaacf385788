// Package web is HTTP in and out: the ticketing app's REST calls, the fan app's
// calls and WebSocket, health, metrics and the OpenAPI document.
//
// New builds a Server from what stands behind it (the line, the inbox, the hub of
// live sockets, each as an interface as small as the calls); Handler is the public
// API and OpsHandler what operators read. Listen binds an address; a Listener is
// served until Shutdown, which blocks and may be called twice. Three files show the
// way of every call: call.go registers one with huma and decodes its body,
// problem.go turns what goes wrong into an answer, and once.go answers a POST with
// an idempotency key once. docs.go makes the page that people read of them.
//
// What holds for every request: nobody gets in by default, since the path alone
// decides which credentials it takes (auth.go); a body is read whole, bounded and
// in time before anything else happens, and is decoded strictly (decode.go); a
// refusal is a waitlist.Error, which one table maps to a status; the text of any
// other error goes to the log alone. Logs hold neither tokens nor queries nor
// bodies.
//
// Everything here may be called concurrently. The package imports waitlist,
// notifier and delivery, chi, huma, jwt, keyfunc, x/time/rate, websocket, the
// Prometheus client and OpenTelemetry's API.
package web
