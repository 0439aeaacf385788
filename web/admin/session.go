package admin

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"fanline/waitlist"
)

// sessionStore keeps sessions under keys from which the token cannot be had, and
// counts tries to log in.
type sessionStore interface {
	TryLogin(ctx context.Context, name, address []byte, l waitlist.LoginLimits) (wait time.Duration, err error)
	StartSession(ctx context.Context, name, address, key []byte, who string, life time.Duration) error
	Session(ctx context.Context, keys [][]byte, life time.Duration) (who string, err error)
	EndSession(ctx context.Context, keys [][]byte) error
}

// sessionLife is how long a session lasts after its last use.
const sessionLife = 12 * time.Hour

type whoKey struct{}

// whoOf is who is logged in, or "".
func whoOf(ctx context.Context) string {
	who, _ := ctx.Value(whoKey{}).(string)
	return who
}

// secure says whether the browser's side of the request is TLS.
func (a *Admin) secure(r *http.Request) bool { return a.https || r.TLS != nil }

// cookie is the session's. With TLS its name has the prefix that makes browsers
// refuse one set by another host or over plain HTTP.
func (a *Admin) cookie(r *http.Request, token string) *http.Cookie {
	c := &http.Cookie{
		Name: "fanline_admin", Value: token, Path: "/admin", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if a.secure(r) {
		c.Name, c.Path, c.Secure = "__Host-fanline_admin", "/", true
	}
	return c
}

// token is the session's token that the request carries, or "".
func (a *Admin) token(r *http.Request) string {
	c, err := r.Cookie(a.cookie(r, "").Name)
	if err != nil || len(c.Value) > 100 {
		return ""
	}
	return c.Value
}

// session is who the request's session belongs to; "" without one.
func (a *Admin) session(r *http.Request) (string, error) {
	token := a.token(r)
	if token == "" || a.users.none() {
		return "", nil
	}
	return a.records.Session(r.Context(), a.users.keys(token), sessionLife)
}

// staffOnly sends whoever is not logged in to do so.
func (a *Admin) staffOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.session(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		if who == "" {
			q := url.Values{}
			if r.Method == http.MethodGet {
				q.Set("next", r.URL.EscapedPath()+query(r.URL))
			} else {
				q.Set("note", "expired")
			}
			http.Redirect(w, r, link("login")+"?"+q.Encode(), http.StatusSeeOther)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), whoKey{}, who)))
	})
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// localPage is where to go after the login: next where that is a page here, and
// nothing that a browser could read as another place.
func localPage(next string) string {
	home := link()
	if strings.ContainsAny(next, "\\\r\n\t") {
		return home
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.User != nil {
		return home
	}
	if u.EscapedPath() == home {
		return home + query(u)
	}
	if !strings.HasPrefix(u.EscapedPath(), "/admin/") || path.Clean(u.Path) != u.Path || strings.HasPrefix(u.Path, link("login")) {
		return home
	}
	return u.EscapedPath() + query(u)
}
