package admin

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"fanline/waitlist"
)

// loginLimits are for guessers. Whoever guesses uses up what is their address's own,
// and at most what all who come from where they never were before share: staff get in
// from where they logged in lately, whatever others do meanwhile.
var loginLimits = waitlist.LoginLimits{
	Window: 10 * time.Minute, PerPair: 10, FamiliarFor: 30 * 24 * time.Hour, PerAddress: 30, PerName: 50, InAll: 300,
}

type loginPage struct {
	Name, Next string
	None       bool // nobody may log in
}

func (a *Admin) loginForm(w http.ResponseWriter, r *http.Request) error {
	next := localPage(r.URL.Query().Get("next"))
	who, err := a.session(r)
	if err != nil {
		return err
	}
	if who != "" {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return a.render(w, r, "login", &view{Title: "Log in", Body: loginPage{Next: next, None: a.users.none()}})
}

func (a *Admin) login(w http.ResponseWriter, r *http.Request) error {
	name, password := r.PostForm.Get("name"), r.PostForm.Get("password")
	body := loginPage{Next: localPage(r.PostForm.Get("next")), None: a.users.none()}
	if len(name) <= waitlist.MaxID {
		body.Name = name
	}
	refuse := func(status int, sentence string) error {
		return a.render(w, r, "login", &view{Title: "Log in", Status: status, Error: sentence, Body: body})
	}
	if body.None {
		return refuse(http.StatusForbidden, "")
	}
	if name == "" || password == "" || len(password) > maxPassword {
		return refuse(http.StatusUnprocessableEntity, "Enter your name and your password.")
	}
	from := loginFrom(r, name)
	wait, err := a.records.TryLogin(r.Context(), from.name, from.address, loginLimits)
	if err != nil {
		return err
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		return refuse(http.StatusTooManyRequests, fmt.Sprintf("There were too many tries. Try again in %s.", minutes(wait)))
	}
	ok, err := a.users.check(r.Context(), name, password)
	if err != nil {
		return err
	}
	if !ok {
		return refuse(http.StatusUnauthorized, "The name or the password is wrong.")
	}
	return a.enter(w, r, name, from, body.Next)
}

// enter starts a new session, also for a browser that has one, which ends.
func (a *Admin) enter(w http.ResponseWriter, r *http.Request, name string, from loginPair, next string) error {
	if old := a.token(r); old != "" {
		if err := a.records.EndSession(r.Context(), a.users.keys(old)); err != nil {
			return err
		}
	}
	token := rand.Text()
	ctx := waitlist.WithAudit(r.Context(), waitlist.Audit{Who: name, Act: waitlist.AuditLogin})
	if err := a.records.StartSession(ctx, from.name, from.address, a.users.key(name, token), name, sessionLife); err != nil {
		return err
	}
	http.SetCookie(w, a.cookie(r, token))
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (a *Admin) logout(w http.ResponseWriter, r *http.Request) error {
	who, err := a.session(r)
	if err != nil {
		return err
	}
	if who != "" {
		ctx := waitlist.WithAudit(r.Context(), waitlist.Audit{Who: who, Act: waitlist.AuditLogout})
		if err := a.records.EndSession(ctx, a.users.keys(a.token(r))); err != nil {
			return err
		}
		a.live.recheck()
	}
	gone := a.cookie(r, "")
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	http.Redirect(w, r, link("login")+"?note=out", http.StatusSeeOther)
	return nil
}
