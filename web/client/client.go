package client

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"
)

var (
	//go:embed fanline.js
	script []byte
	//go:embed fanline.d.ts
	types []byte
)

// Script serves fanline.js, Types its fanline.d.ts.
var (
	Script = serve(script, "text/javascript; charset=utf-8")
	Types  = serve(types, "text/plain; charset=utf-8")
)

// serve answers with a file that pages of any origin may import. Caches keep it for
// an hour: an instance of the next release serves another under the same name.
func serve(body []byte, kind string) http.HandlerFunc {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("ETag", tag)
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
}
