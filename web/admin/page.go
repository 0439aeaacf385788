package admin

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"

	"fanline/waitlist"
)

// view is a page: what its layout shows, and the body of the page's own template.
type view struct {
	Title  string
	Nav    string // the entry of the navigation that it belongs to
	Status int    // 0: 200
	Notice string // what was done
	Error  string // what was not
	Show   *waitlist.Show
	Tab    string // of the show
	Live   string // where its stream is; "": it has none
	Body   any

	Who  string
	Path string
}

// notices are what pages say after a redirect, by the word in the address, so that
// nobody can make a page say something else.
var notices = map[string]string{
	"expired":  "You were logged out after 12 hours without a page. Nothing was done; log in and do it again.",
	"out":      "You are logged out.",
	"paused":   "The show is paused. Turns already open run on.",
	"resumed":  "Staff's pause is lifted.",
	"front":    "Moved to the front.",
	"restored": "The earlier place is given back.",
	"removed":  "Removed from the line.",
	"given":    "The next turn of that opening goes to this fan.",
	"cancel":   "The opening is cancelled.",
	"policy":   "The policy is changed.",
	"seat":     "The test seat is free: the next fans in line get their turn.",
	"sent":     "The announcement is on its way to everyone in line.",
}

// pages are the templates and assets.
type pages struct {
	byName map[string]*template.Template
	served map[string]file
}

// navPage is an entry of the navigation.
type navPage struct{ Name, Title, Link string }

// navPages are those there are.
func navPages(jobs bool) []navPage {
	list := []navPage{
		{"overview", "Overview", link()}, {"shows", "Shows", link("shows")}, {"fans", "Fans", link("fans")},
	}
	if jobs {
		list = append(list, navPage{"jobs", "Jobs", link("jobs")})
	}
	return append(list, navPage{"audit", "Audit log", link("audit")})
}

func loadPages(nav []navPage) (*pages, error) {
	served, names, err := loadAssets()
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{
		"asset": func(name string) string { return link("assets", names[name]) },
		"link":  link, "count": count, "plural": plural, "state": stateWords, "tier": tierWords, "reason": reasonWords,
		"dict": dict, "rate": perSecond, "pages": func() []navPage { return nav },
	}
	base, err := template.New("layout.html").Funcs(funcs).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	p := &pages{byName: map[string]*template.Template{}, served: served}
	list, err := files.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		name := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		if name == "layout" || name == "parts" {
			continue
		}
		t, err := template.Must(base.Clone()).ParseFS(files, "templates/"+e.Name())
		if err != nil {
			return nil, err
		}
		p.byName[name] = t
	}
	return p, nil
}

// dict makes the arguments of a part: names and values by turns.
func dict(pairs ...any) map[string]any {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// render writes a page whole or fails.
func (a *Admin) render(w http.ResponseWriter, r *http.Request, name string, v *view) error {
	v.Who, v.Path = whoOf(r.Context()), r.URL.Path
	if v.Notice == "" && v.Error == "" {
		v.Notice = notices[r.URL.Query().Get("note")]
	}
	var b bytes.Buffer
	if err := a.pages.byName[name].Execute(&b, v); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	if v.Status == 0 {
		v.Status = http.StatusOK
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(v.Status)
	_, _ = w.Write(b.Bytes()) // the browser may be gone
	return nil
}

// renderParts renders pieces of a page alone, each by its template of the name "part-" and
// the piece's.
func (a *Admin) renderParts(page string, names []string, v *view) (parts, error) {
	out := parts{}
	for _, name := range names {
		var b bytes.Buffer
		if err := a.pages.byName[page].ExecuteTemplate(&b, "part-"+name, v); err != nil {
			return nil, fmt.Errorf("render the part %s of %s: %w", name, page, err)
		}
		out[name] = b.String()
	}
	return out, nil
}

// zoneOf is the show's zone, or UTC where this machine does not know it.
func zoneOf(name string) *time.Location {
	if z, err := waitlist.LoadZone(name); err == nil {
		return z
	}
	return time.UTC
}

// Zone is the show's.
func (v *view) Zone() *time.Location { return zoneOf(v.Show.TimeZone) }
