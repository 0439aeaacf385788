package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "fanline"

// place is one package of the program, or with subtree a package and all below it, and what it may import.
type place struct {
	path    string // below the module; "" is main
	subtree bool
	// may lists the packages of Fanline. "*" is all of them. Packages of one place may always import each other.
	may []string
	// forTests says that "*" does not reach it: only tests import it, and packages that list it.
	forTests bool
	// only lists, where it is not nil, the modules beside the standard library that it may import: a path or all below it.
	only []string
}

// places is the import picture, the same as in the package docs. The most exact place of a package counts.
var places = []place{
	{path: "", may: []string{"*"}},
	{path: "waitlist", subtree: true, only: []string{}},
	{path: "notifier", subtree: true, only: []string{"github.com/riverqueue"}},
	{path: "fanout", subtree: true, may: []string{"waitlist", "notifier"}},
	{path: "delivery", subtree: true, may: []string{"notifier", "ratelimit"}},
	{path: "delivery/live", may: []string{"notifier"}, only: []string{"github.com/coder/websocket", "github.com/redis/go-redis"}},
	{path: "ratelimit", subtree: true, only: []string{"github.com/redis/go-redis"}},
	{path: "store", subtree: true, may: []string{"waitlist", "notifier", "fanout", "delivery"}},
	{path: "store/embedded"},
	{path: "store/storetest", forTests: true, may: []string{"store/embedded"}},
	{path: "web", subtree: true, may: []string{"waitlist", "notifier", "delivery"}},
	{path: "web/admin", may: []string{"waitlist", "notifier", "delivery"}, only: []string{"github.com/go-chi/chi/v5", "golang.org/x/crypto/argon2"}},
	{path: "web/chrometest", forTests: true, only: []string{"github.com/chromedp"}},
	{path: "sim", subtree: true},
	{path: "e2e", subtree: true, may: []string{"sim", "store/embedded", "store/storetest"}},
	// Some figures are taken at the store's call, below HTTP, beside the same statements by hand.
	{path: "e2e/bench", may: []string{"sim", "store", "waitlist", "notifier", "ratelimit"}},
}

// listed is what the test reads of `go list -json`.
type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	GoFiles    []string
}

// TestImportsRunOneWay holds the import picture: what a package's non-test files import directly.
func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	standard := map[string]bool{"C": true, "unsafe": true}
	var ours []listed
	for _, p := range list(t, "-deps", "./...") {
		if p.Standard {
			standard[p.ImportPath] = true
		} else if inModule(p.ImportPath) {
			ours = append(ours, p)
		}
	}
	for _, p := range ours {
		for _, err := range violations(p, standard) {
			t.Error(err)
		}
	}
}

// TestEveryPackageSaysWhatItIsFor asks for the doc.go that a newcomer reads first. Packages of tests alone have none.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "./...") {
		if len(p.GoFiles) == 0 || p.ImportPath == module {
			continue
		}
		if _, err := os.Stat(filepath.Join(p.Dir, "doc.go")); err != nil {
			t.Errorf("package %s has no doc.go that says what it is for", p.ImportPath)
		}
	}
}

// TestThePictureCatchesWhatItShould keeps the test above from passing because it looks at nothing.
func TestThePictureCatchesWhatItShould(t *testing.T) {
	t.Parallel()
	standard := map[string]bool{"time": true, "net/http": true}
	for _, c := range []struct {
		pkg     string
		imports string
		refused bool
	}{
		{"waitlist", "time", false},
		{"waitlist", "fanline/waitlist/internal/turns", false},
		{"waitlist", "fanline/store", true},
		{"waitlist", "github.com/jackc/pgx/v5", true},
		{"notifier", "github.com/riverqueue/river", false},
		{"notifier", "github.com/riverqueue2/river", true},
		{"notifier", "fanline/waitlist", true},
		{"delivery/apns", "fanline/notifier", false},
		{"delivery/apns", "fanline/delivery", false},
		{"delivery/apns", "fanline/store", true},
		{"delivery", "fanline/delivery/live", true},
		{"delivery/live", "fanline/delivery", true},
		{"delivery/live", "fanline/notifier", false},
		{"ratelimit", "github.com/redis/go-redis/v9", false},
		{"ratelimit", "github.com/jackc/pgx/v5", true},
		{"store", "fanline/delivery/apns", false},
		{"store", "fanline/delivery/live", false},
		{"store", "fanline/web", true},
		{"store", "fanline/store/migrations", false},
		{"store", "fanline/store/storetest", true},
		{"store/embedded", "fanline/store", true},
		{"store/embedded", "github.com/jackc/pgx/v5", false},
		{"store/storetest", "fanline/store/embedded", false},
		{"store/storetest", "fanline/waitlist", true},
		{"web", "fanline/store", true},
		{"web", "fanline/web/chrometest", true},
		{"web/admin", "fanline/web/chrometest", true},
		{"web/chrometest", "github.com/chromedp/cdproto/log", false},
		{"web/chrometest", "fanline/web", true},
		{"", "fanline/web/chrometest", true},
		{"", "fanline/store/storetest", true},
		{"", "fanline/store", false},
		{"sim", "fanline/waitlist", true},
		{"e2e/bench", "fanline/sim", false},
		{"e2e/bench", "fanline/store", false},
		{"e2e/bench", "fanline/web", true},
		{"e2e", "fanline/store", true},
		{"helpers", "time", true},
	} {
		p := listed{ImportPath: strings.TrimSuffix(module+"/"+c.pkg, "/"), Imports: []string{c.imports}}
		if got := violations(p, standard); (len(got) > 0) != c.refused {
			t.Errorf("%s imports %s: refused %v, want %v", c.pkg, c.imports, got, c.refused)
		}
	}
}

// violations returns a sentence for each import that the package may not have.
func violations(p listed, standard map[string]bool) []error {
	at, ok := placeOf(p.ImportPath)
	if !ok {
		return []error{fmt.Errorf("package %s has no place in the import picture: give it one in places, and in the docs", p.ImportPath)}
	}
	var found []error
	for _, imported := range p.Imports {
		if !standard[imported] && !at.allows(p.ImportPath, imported) {
			found = append(found, fmt.Errorf("package %s imports %s; beside the standard library it may import %s", p.ImportPath, imported, at.allowed()))
		}
	}
	return found
}

// placeOf returns the most exact place of a package.
func placeOf(importPath string) (place, bool) {
	path := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	var best place
	found := false
	for _, at := range places {
		fits := at.path == path || at.subtree && within(path, at.path)
		if fits && (!found || len(at.path) > len(best.path)) {
			best, found = at, true
		}
	}
	return best, found
}

func (at place) allows(importer, imported string) bool {
	if !inModule(imported) {
		return at.only == nil || slices.ContainsFunc(at.only, func(m string) bool { return within(imported, m) })
	}
	path := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	its, ok := placeOf(imported)
	if ok && its.path == at.path {
		return true
	}
	return slices.ContainsFunc(at.may, func(m string) bool {
		return m == "*" && !its.forTests || within(path, m) && (!its.forTests || m == its.path)
	})
}

func (at place) allowed() string {
	var may []string
	for _, m := range at.may {
		may = append(may, module+"/"+m)
	}
	if at.only == nil {
		may = append(may, "other modules")
	}
	may = append(may, at.only...)
	if len(may) == 0 {
		return "nothing"
	}
	return strings.Join(may, ", ")
}

func inModule(importPath string) bool { return within(importPath, module) }

// within reports whether path is the directory or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// list runs go list at the root of the module.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	fields := "-json=ImportPath,Dir,Standard,Imports,GoFiles"
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", fields}, args...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}
