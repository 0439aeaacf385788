package admin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/go-chi/chi/v5"

	"fanline/waitlist"
)

//go:embed assets templates
var files embed.FS

// file is an embedded one, served under a name that holds its hash.
type file struct {
	body []byte
	kind string
}

// loadAssets returns the assets by their served names, and these by their own.
func loadAssets() (served map[string]file, names map[string]string, err error) {
	entries, err := fs.ReadDir(files, "assets")
	if err != nil {
		return nil, nil, err
	}
	served, names = map[string]file{}, map[string]string{}
	for _, e := range entries {
		body, err := files.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, nil, fmt.Errorf("asset %s: %w", e.Name(), err)
		}
		sum := sha256.Sum256(body)
		ext := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:8]) + ext
		served[name] = file{body, kindOf(ext)}
		names[e.Name()] = name
	}
	return served, names, nil
}

// kindOf does not ask the machine's tables for what is served here.
func kindOf(ext string) string {
	switch ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(ext)
}

// asset serves a file. What its name stands for never changes.
func (a *Admin) asset(w http.ResponseWriter, r *http.Request) {
	f, ok := a.pages.served[chi.URLParam(r, "name")]
	if !ok {
		a.fail(w, r, waitlist.Refuse(waitlist.NotFound, "There is no such file."))
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(f.body)
}
