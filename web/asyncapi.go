package web

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fanline/delivery/live"
)

// The document of the stream is made once, of the types that the hub encodes and
// decodes.
type (
	asyncDocument struct {
		AsyncAPI           string                    `json:"asyncapi"`
		Info               asyncInfo                 `json:"info"`
		DefaultContentType string                    `json:"defaultContentType"`
		Channels           map[string]asyncChannel   `json:"channels"`
		Operations         map[string]asyncOperation `json:"operations"`
		Components         asyncComponents           `json:"components"`
	}
	asyncInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	asyncRef     map[string]string
	asyncChannel struct {
		Address     string              `json:"address"`
		Description string              `json:"description"`
		Messages    map[string]asyncRef `json:"messages"`
		Bindings    map[string]any      `json:"bindings"`
	}
	asyncOperation struct {
		Action   string     `json:"action"`
		Channel  asyncRef   `json:"channel"`
		Summary  string     `json:"summary"`
		Messages []asyncRef `json:"messages"`
		Security []asyncRef `json:"security"`
	}
	asyncMessage struct {
		Name     string           `json:"name"`
		Summary  string           `json:"summary"`
		Payload  asyncRef         `json:"payload"`
		Examples []map[string]any `json:"examples"`
	}
	asyncComponents struct {
		Messages        map[string]asyncMessage         `json:"messages"`
		Schemas         map[string]*huma.Schema         `json:"schemas"`
		SecuritySchemes map[string]*huma.SecurityScheme `json:"securitySchemes"`
	}
)

const asyncSchemas = "#/components/schemas/"

func ref(to string) asyncRef { return asyncRef{"$ref": to} }

// asyncCalls serves the document.
func (s *Server) asyncCalls() error {
	body, err := json.Marshal(s.makeAsyncAPI())
	if err != nil {
		return err
	}
	document := &huma.Response{Description: "AsyncAPI 3.0", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}
	s.plain(open(http.MethodGet, "/asyncapi.json", "asyncapi", "The stream's document, for programs", document), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	return nil
}

func (s *Server) makeAsyncAPI() asyncDocument {
	registry := huma.NewMapRegistry(asyncSchemas, huma.DefaultSchemaNamer)
	aliases(registry)
	d := asyncDocument{
		AsyncAPI: "3.0.0", DefaultContentType: "application/json",
		Info:       asyncInfo{"Fanline: the fan's stream", s.cfg.Version, streamText + "\n\n" + streamCodes},
		Channels:   map[string]asyncChannel{},
		Operations: map[string]asyncOperation{},
		Components: asyncComponents{
			Messages:        map[string]asyncMessage{},
			SecuritySchemes: map[string]*huma.SecurityScheme{"fanToken": s.api.OpenAPI().Components.SecuritySchemes["fanToken"]},
		},
	}
	stream := asyncChannel{
		Address: streamPath, Description: streamText, Messages: map[string]asyncRef{},
		Bindings: map[string]any{"ws": map[string]any{
			"method": http.MethodGet,
			"query": map[string]any{"type": "object", "properties": map[string]any{
				"after": map[string]any{"type": "string", "description": streamAfter},
			}},
		}},
	}
	for _, side := range []struct {
		id, action, summary string
		frames              []live.FrameType
	}{
		{"toFan", "send", "What the server sends.", live.ServerFrames()},
		{"fromFan", "receive", "What the client may send.", live.ClientFrames()},
	} {
		op := asyncOperation{
			Action: side.action, Summary: side.summary, Channel: ref("#/channels/stream"),
			Security: []asyncRef{ref("#/components/securitySchemes/fanToken")},
		}
		for _, f := range side.frames {
			d.Components.Messages[f.Name] = asyncMessage{
				Name: f.Name, Summary: f.Text, Payload: payload(registry, f),
				Examples: []map[string]any{{"payload": json.RawMessage(f.Example)}},
			}
			stream.Messages[f.Name] = ref("#/components/messages/" + f.Name)
			op.Messages = append(op.Messages, ref("#/channels/stream/messages/"+f.Name))
		}
		d.Operations[side.id] = op
	}
	d.Channels["stream"] = stream
	d.Components.Schemas = registry.Map()
	return d
}

// payload is the schema of a frame, whose type is its name alone.
func payload(registry huma.Registry, f live.FrameType) asyncRef {
	to := registry.Schema(reflect.TypeOf(f.Form), true, "").Ref
	registry.SchemaFromRef(to).Properties["type"].Enum = []any{f.Name}
	return ref(to)
}
