package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"
)

// serveRig serves the rig on a real socket.
func serveRig(t *testing.T, r *rig) string {
	t.Helper()
	srv := httptest.NewServer(r.server.Handler())
	t.Cleanup(srv.Close)
	return srv.URL + streamPath
}

func dial(t *testing.T, url string, h http.Header, protocols ...string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: tr}, HTTPHeader: h, Subprotocols: protocols,
	})
	if conn != nil {
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, resp, err
}

func TestStreamTakesTheTokenFromHeaderOrSubprotocol(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	url := serveRig(t, r)
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	token := sign(t, jwt.MapClaims{"sub": "ada", "exp": ends.Unix()})
	for name, c := range map[string]struct {
		h         http.Header
		protocols []string
		picked    string
	}{
		"header":              {http.Header{"Authorization": {"Bearer " + token}}, nil, ""},
		"header and protocol": {http.Header{"Authorization": {"Bearer " + token}}, []string{streamProtocol}, streamProtocol},
		"subprotocol":         {http.Header{"Origin": {"https://fans.example"}}, []string{streamProtocol, bearerPrefix + token}, streamProtocol},
	} {
		conn, _, err := dial(t, url, c.h, c.protocols...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, frame, err := conn.Read(t.Context())
		if err != nil || string(frame) != "ada" || conn.Subprotocol() != c.picked {
			t.Errorf("%s: %q, %v, protocol %q", name, frame, err, conn.Subprotocol())
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	for _, s := range r.stream.sessions {
		if s.FanID != "ada" || !s.Expires.Equal(ends) {
			t.Errorf("session %v", s)
		}
	}
}

func TestStreamRefusesBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	url := serveRig(t, r)
	token := r.fanToken("ada")
	expired := sign(t, jwt.MapClaims{"sub": "ada", "exp": time.Now().Add(-time.Minute).Unix()})
	auth := http.Header{"Authorization": {"Bearer " + token}}
	for name, c := range map[string]struct {
		h         http.Header
		protocols []string
		status    int
	}{
		"no token":           {nil, []string{streamProtocol}, 401},
		"expired":            {nil, []string{streamProtocol, bearerPrefix + expired}, 401},
		"unsigned":           {nil, []string{streamProtocol, bearerPrefix + unsigned(t, "ada")}, 401},
		"api key":            {http.Header{"Authorization": {"Bearer " + appSecret}}, nil, 401},
		"token alone":        {nil, []string{bearerPrefix + token}, 401},
		"token first":        {nil, []string{bearerPrefix + token, streamProtocol}, 401},
		"foreign page":       {http.Header{"Authorization": auth["Authorization"], "Origin": {"https://evil.example"}}, nil, 403},
		"no page's sandbox":  {http.Header{"Authorization": auth["Authorization"], "Origin": {"null"}}, nil, 403},
		"empty origin":       {http.Header{"Authorization": auth["Authorization"], "Origin": {""}}, nil, 403},
		"look-alike of page": {http.Header{"Authorization": auth["Authorization"], "Origin": {"https://fans.example.evil.example"}}, nil, 403},
	} {
		_, resp, err := dial(t, url, c.h, c.protocols...)
		if err == nil || resp == nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	r.stream.mu.Lock()
	r.stream.full = true
	r.stream.mu.Unlock()
	_, resp, err := dial(t, url, auth)
	if err == nil || resp.StatusCode != 503 {
		t.Fatalf("full: %v, %v", resp, err)
	}
	if n, _ := strconv.Atoi(resp.Header.Get("Retry-After")); n < 1 || n > 10 {
		t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
	}
	if _, resp, _ := dial(t, url, nil); resp.StatusCode != 401 {
		t.Errorf("a full server tells strangers %d", resp.StatusCode)
	}
	if len(r.stream.sessions) > 0 {
		t.Errorf("sessions %v", r.stream.sessions)
	}
}

func TestStreamWithoutAnUpgrade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.fan("GET", streamPath, "")
	w.problem(426, "invalid", "Upgrade")
	if w.Header().Get("Upgrade") != "websocket" {
		t.Errorf("%v", w.Header())
	}
	for change, field := range map[[2]string]string{
		{"Sec-WebSocket-Version", "8"}:   "Sec-WebSocket-Version",
		{"Sec-WebSocket-Key", "short"}:   "Sec-WebSocket-Key",
		{"Upgrade", "h2c"}:               "Upgrade",
		{"Connection", "keep-alive, x"}:  "Upgrade",
		{"Sec-WebSocket-Key", "!!!!!!!"}: "Sec-WebSocket-Key",
	} {
		req := httptest.NewRequest("GET", streamPath, nil)
		for k, v := range map[string]string{
			"Authorization": "Bearer " + r.fanToken("ada"), "Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket",
			"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", change[0]: change[1],
		} {
			req.Header.Set(k, v)
		}
		w := r.send(req)
		w.problem(w.Code, "invalid", field)
	}
	r.fan("POST", streamPath, "").problem(405, "method_not_allowed", "")
}
