package admin

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"

	"fanline/waitlist"
)

// jobsPolicy lets the queue's pages do what they need beyond ours: they are a program
// that puts styles of its own into the page.
func (a *Admin) jobsPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; "+
			"style-src 'self' 'unsafe-inline'; img-src 'self'; font-src 'self'; "+
			"frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		if strings.HasPrefix(r.URL.Path, "/admin/jobs/assets/") { // their names hold hashes
			w.Header().Set("Cache-Control", "private, max-age=86400")
		}
		next.ServeHTTP(w, r)
	})
}

// jobsWord is what the log may hold of an act on jobs: the queue's API names what is
// done in its path and lists numbers in its body.
var jobsWord = regexp.MustCompile(`[^A-Za-z0-9_./,:"\[\]{} -]`)

// jobsAudited writes down what staff do with jobs before it is done: the queue is not
// of our transactions.
func (a *Admin) jobsAudited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			a.fail(w, r, &refusal{http.StatusRequestEntityTooLarge, "That is too much at once."})
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		did := strings.TrimPrefix(r.URL.Path, "/admin/jobs/api/") + " " + string(body)
		did = jobsWord.ReplaceAllString(did, "")
		err = a.records.NoteAct(r.Context(), waitlist.Audit{
			Who: whoOf(r.Context()), Act: waitlist.AuditJobs, Reason: r.Method + " " + did[:min(len(did), waitlist.MaxReason-10)],
		})
		if err != nil {
			a.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}
