package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"fanline/notifier"
)

const (
	maxFrame = 64 << 10 // bytes of a client's frame
	maxIDs   = 500      // ids in one frame
	// earlyMost is how many frames may wait for hello: answers to pings, a warning.
	earlyMost = 64
)

// ending is why a connection ends, as its peer is told. Code 0 is not told: the peer is gone.
type ending struct {
	code   websocket.StatusCode
	reason string
}

// The endings. 4001 to 4007: not again with this token; 4009 and 4400: not again by itself; the others: again.
var (
	closeGone      = ending{}
	closeDraining  = ending{websocket.StatusGoingAway, "the server is draining"}
	closeFailed    = ending{websocket.StatusInternalError, "try again"}
	closeFull      = ending{websocket.StatusTryAgainLater, "too many connections"}
	closeExpired   = ending{4001, "the token has expired"}
	closeBadToken  = ending{4001, "the token is not valid for this fan"}
	closeSignedOut = ending{4002, "signed out"}
	closeSlow      = ending{4008, "too slow"}
	closeSilent    = ending{4008, "nothing came back"}
	closeTooMany   = ending{4009, "more than 8 connections"}
)

func closeBadFrame(why string) ending { return ending{4400, why} }

// The server's frames, in the order of API.md.
type (
	helloFrame struct {
		Type       string         `json:"type"`
		Session    string         `json:"session"`
		HeartbeatS int            `json:"heartbeat_s"`
		Now        notifier.Stamp `json:"now"`
		Reset      bool           `json:"reset"`
	}
	itemFrame struct {
		Type string         `json:"type"`
		Item *notifier.Item `json:"item"`
	}
	cursorFrame struct {
		Type   string `json:"type"`
		Cursor string `json:"cursor"`
	}
	expiringFrame struct {
		Type string `json:"type"`
		InS  int    `json:"in_s"`
	}
	updateFrame struct {
		Type string `json:"type"`
		notifier.Update
	}
	// lineFrame has no position for an entry that nobody is asked to wait behind: holding, dormant or gone.
	lineFrame struct {
		Type     string `json:"type"`
		ShowID   string `json:"show_id"`
		Position *int64 `json:"position" nullable:"true"`
	}
	pongFrame struct {
		Type string         `json:"type"`
		Now  notifier.Stamp `json:"now"`
	}
	closingFrame struct {
		Type         string `json:"type"`
		RetryAfterMS int64  `json:"retry_after_ms"`
	}
)

func helloOf(session string, heartbeatS int, now time.Time, reset bool) []byte {
	return encode(helloFrame{"hello", session, heartbeatS, notifier.Stamp(now), reset})
}

func cursorOf(c *fanCursor) []byte { return encode(cursorFrame{"cursor", c.encode()}) }

func lineOf(showID string, position int64) []byte {
	f := lineFrame{Type: "line", ShowID: showID}
	if position > 0 {
		f.Position = &position
	}
	return encode(f)
}

func pongOf(now time.Time) []byte { return encode(pongFrame{"pong", notifier.Stamp(now)}) }

// expiringOf rounds up, so that it never says 0 while the token holds.
func expiringOf(in time.Duration) []byte {
	return encode(expiringFrame{"expiring", int((in + time.Second - 1) / time.Second)})
}

func closingOf(retry time.Duration) []byte {
	return encode(closingFrame{"closing", retry.Milliseconds()})
}

// encode writes a frame of ours that cannot fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}

// request is a frame of the client.
type request struct {
	Type  string   `json:"type"`
	IDs   []string `json:"ids"`
	Token string   `json:"token"`
}

// parse reads a client's frame. Its error is a sentence for the close frame.
func parse(b []byte) (request, error) {
	var r request
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, errors.New("not a frame")
	}
	if _, err := dec.Token(); err != io.EOF {
		return r, errors.New("more than one frame")
	}
	return r, r.check()
}

func (r request) check() error {
	hasIDs, hasToken := r.IDs != nil, r.Token != ""
	switch r.Type {
	case "ping":
		if hasIDs || hasToken {
			return errors.New("a ping has no fields")
		}
	case "ack", "read":
		if !hasIDs || hasToken {
			return errors.New("ids are missing")
		}
		if len(r.IDs) > maxIDs {
			return errors.New("more than 500 ids")
		}
		if slices.ContainsFunc(r.IDs, notID) {
			return errors.New("not an id")
		}
	case "token":
		if hasIDs || !hasToken {
			return errors.New("the token is missing")
		}
	default:
		return errors.New("unknown type")
	}
	return nil
}

// notID keeps out what cannot be the id of an item, and what Postgres would refuse as text.
func notID(id string) bool {
	return id == "" || len(id) > 256 || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' })
}
