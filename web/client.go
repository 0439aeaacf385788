package web

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fanline/web/client"
)

// clientCalls serve the fan's client for browsers.
func (s *Server) clientCalls() {
	file := func(kind string) *huma.Response {
		return &huma.Response{Description: "The file", Content: map[string]*huma.MediaType{kind: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	for _, f := range []struct {
		path, id, summary, kind string
		serve                   http.HandlerFunc
	}{
		{"/client/fanline.js", "client", "The client for browsers: an ES module", "text/javascript", client.Script},
		{"/client/fanline.d.ts", "client-types", "Its types", "text/plain", client.Types},
	} {
		op := open(http.MethodGet, f.path, f.id, f.summary, file(f.kind))
		op.Tags = []string{"Fan"}
		s.plain(op, f.serve)
	}
}
