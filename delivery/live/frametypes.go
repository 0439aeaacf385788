package live

// FrameType is a kind of frame of the stream, for its document.
type FrameType struct {
	Name    string // the frame's type
	Text    string // when it comes and what it means
	Form    any    // a value of the Go type that is encoded or decoded
	Example string
}

// The client's frames as they are documented; parse reads all of them as one request.
type (
	pingFrame struct {
		Type string `json:"type"`
	}
	ackFrame struct {
		Type string   `json:"type"`
		IDs  []string `json:"ids" minItems:"0" maxItems:"500" nullable:"false"`
	}
	readFrame  ackFrame
	tokenFrame struct {
		Type  string `json:"type"`
		Token string `json:"token"`
	}
)

// ServerFrames are what a connection is sent, in the order of the contract.
func ServerFrames() []FrameType {
	return []FrameType{
		{
			"hello", "The first frame. now is the server's time, for countdowns. reset: the cursor could not be used, so read the inbox anew. " +
				"The server pings each heartbeat_s and ends a connection that was silent for two.",
			helloFrame{},
			`{"type":"hello","session":"9f2c4be01d7a63508ce41b7f","heartbeat_s":25,"now":"2026-08-30T18:04:10.000Z","reset":false}`,
		},
		{
			"item", "An item of the inbox: what was missed, oldest first, then what is new. One that came before may come again under the same id.",
			itemFrame{},
			`{"type":"item","item":{"id":"turn:tuesday-42:freed-7","kind":"turn","lane":"turns","show_id":"tuesday-42","opening_id":"freed-7",` +
				`"title":"Your turn for Tuesday Night","body":"2 seats at The Locksmith can be yours for 10 minutes, until 20:14 BST.","seats":2,"state":"open",` +
				`"opens_at":"2026-08-30T18:04:12.250Z","closes_at":"2026-08-30T18:14:12.250Z","created_at":"2026-08-30T18:04:12.250Z","read_at":null}}`,
		},
		{
			"cursor", "After the replay, an empty one too, and after each batch: keep it, and come back with ?after=.",
			cursorFrame{},
			`{"type":"cursor","cursor":"AQz3Kq0"}`,
		},
		{
			"expiring", "The token is about to end: send a new one in a token frame.",
			expiringFrame{},
			`{"type":"expiring","in_s":60}`,
		},
		{
			"update", "The state of an item that came before: a turn was claimed elsewhere, is over, or was filled.",
			updateFrame{},
			`{"type":"update","id":"turn:tuesday-42:freed-7","state":"over"}`,
		},
		{
			"line", "The own position changed; at most once a second a show, and from 100 on only when it changed by a hundredth. " +
				"null: holding, dormant or out of the line.",
			lineFrame{},
			`{"type":"line","show_id":"tuesday-42","position":7}`,
		},
		{"pong", "The answer to ping.", pongFrame{}, `{"type":"pong","now":"2026-08-30T18:04:12.250Z"}`},
		{
			"closing", "The instance stops: come back, but not before retry_after_ms.",
			closingFrame{},
			`{"type":"closing","retry_after_ms":1800}`,
		},
	}
}

// ClientFrames are what a connection takes. Anything else ends it with 4400.
func ClientFrames() []FrameType {
	return []FrameType{
		{"ping", "Asks for a pong: a browser does not see the server's own pings.", pingFrame{}, `{"type":"ping"}`},
		{
			"ack", "Items are on a screen, so that no other channel need tell of them.",
			ackFrame{},
			`{"type":"ack","ids":["turn:tuesday-42:freed-7"]}`,
		},
		{"read", "Marks items read.", readFrame{}, `{"type":"read","ids":["turn:tuesday-42:freed-7"]}`},
		{"token", "Renews the token in place; it must be the same fan's.", tokenFrame{}, `{"type":"token","token":"<JWT>"}`},
	}
}
