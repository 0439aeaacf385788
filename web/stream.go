package web

import (
	"context"
	"encoding/base64"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"

	"fanline/delivery/live"
	"fanline/waitlist"
)

const (
	streamPath     = "/v1/me/stream"
	streamProtocol = "fanline.v1"
	bearerPrefix   = "bearer."
)

// What the documents say of the stream.
const (
	streamText = "The token comes in the Authorization header or, from a browser, as the second entry of Sec-WebSocket-Protocol: " +
		"fanline.v1, bearer.<JWT>. It is checked before the upgrade: a bad one gets 401, a full or stopping instance 503 with Retry-After. " +
		"Frames are JSON text."
	streamAfter = "The newest cursor that the client has: what was missed since then is replayed first. One that cannot " +
		"be used any more is answered by a hello with reset: true, and is no error."
	streamCodes = "Close codes: 1001 the instance stops, 4001 token expired, 4002 signed out, 4008 too slow, 4009 more than 8 connections " +
		"of one fan (the oldest goes), 4400 bad frame. After 4001 to 4007 do not come back with this token, after 4009 and 4400 not by " +
		"itself, after any other come back after a random time that grows."
)

func (s *Server) streamCalls() {
	op := doc("Fan", http.MethodGet, streamPath, "stream", "The WebSocket", 400, 403, 426)
	op.Description = streamDescription()
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: "after", In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Description: streamAfter,
	})
	op.Responses = map[string]*huma.Response{"101": {Description: "Frames of JSON text follow."}}
	s.plain(op, s.stream)
}

// streamDescription lists the frames; asyncapi.json has their fields.
func streamDescription() string {
	var b strings.Builder
	list := func(head string, frames []live.FrameType) {
		b.WriteString("\n\n" + head + "\n")
		for _, f := range frames {
			b.WriteString("\n" + f.Example + "\n" + f.Text + "\n")
		}
	}
	b.WriteString(streamText + " Their fields are in asyncapi.json.")
	list("The server sends:", live.ServerFrames())
	list("The client may send:", live.ClientFrames())
	b.WriteString("\n" + streamCodes)
	return b.String()
}

// stream hands an upgraded connection to the hub. Everything that can be refused
// is refused before the upgrade, so that no client counts it as a success.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	if p := s.checkUpgrade(r); p != nil {
		p.write(w)
		return
	}
	if s.cfg.Stream.Full() {
		// Spread, or those turned away would all come back at once.
		refuse(waitlist.Unavailable, "no more connections are taken right now").after(time.Second + rand.N(9*time.Second)).write(w)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{streamProtocol},
		InsecureSkipVerify: true, // checkUpgrade has looked at the origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil { // it has answered
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "upgrade failed", slog.Any("error", err))
		return
	}
	m := metaOf(r.Context())
	// The request's context has no meaning after the upgrade; the hub bounds
	// frames and ends the connection.
	s.cfg.Stream.Serve(context.WithoutCancel(r.Context()), conn, live.Session{
		FanID: m.fan, Expires: m.expires, After: r.URL.Query().Get("after"),
	})
}

func (s *Server) checkUpgrade(r *http.Request) *Problem {
	h := r.Header
	switch {
	case len(h.Values("Origin")) > 0 && !s.allowed(h.Get("Origin")):
		return refuse(forbidden, "pages of this origin may not open the stream")
	case !r.ProtoAtLeast(1, 1), r.ProtoMajor > 1, !hasToken(h, "Connection", "upgrade"), !hasToken(h, "Upgrade", "websocket"):
		return unreadable(FieldError{"Upgrade", "this is a WebSocket: send the upgrade of HTTP/1.1"}).as(http.StatusUpgradeRequired).
			header("Upgrade", "websocket").header("Connection", "Upgrade")
	case h.Get("Sec-WebSocket-Version") != "13":
		return unreadable(FieldError{"Sec-WebSocket-Version", "only version 13 is spoken here"}).as(http.StatusUpgradeRequired).
			header("Upgrade", "websocket").header("Connection", "Upgrade").header("Sec-WebSocket-Version", "13")
	case len(h.Values("Sec-WebSocket-Key")) != 1 || !isKey(h.Get("Sec-WebSocket-Key")):
		return unreadable(FieldError{"Sec-WebSocket-Key", "Sec-WebSocket-Key must be 16 bytes in base64"})
	}
	return nil
}

func isKey(s string) bool {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	return err == nil && len(b) == 16
}

// tokens are the comma-separated words of a header, over all its lines.
func tokens(h http.Header, name string) []string {
	var list []string
	for _, line := range h.Values(name) {
		for word := range strings.SplitSeq(line, ",") {
			if word = strings.TrimSpace(word); word != "" {
				list = append(list, word)
			}
		}
	}
	return list
}

func hasToken(h http.Header, name, token string) bool {
	for _, t := range tokens(h, name) {
		if strings.EqualFold(t, token) {
			return true
		}
	}
	return false
}

// protocolToken is the token that a browser sends: the second subprotocol.
func protocolToken(h http.Header) (string, bool) {
	p := tokens(h, "Sec-WebSocket-Protocol")
	if len(p) != 2 || p[0] != streamProtocol || !strings.HasPrefix(p[1], bearerPrefix) {
		return "", false
	}
	return strings.TrimPrefix(p[1], bearerPrefix), true
}
