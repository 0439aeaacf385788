package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fanline/waitlist"
)

// streamOverview is the stream of the overview.
func (a *Admin) streamOverview(w http.ResponseWriter, r *http.Request) error {
	return a.stream(w, r, a.boardHTML)
}

// stream sends the parts of the request's page that changed, until the browser goes,
// the session ends or the process stops. read is used where nobody looks at the page
// yet.
func (a *Admin) stream(w http.ResponseWriter, r *http.Request, read liveRead) error {
	s := &sse{w: w, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if a.stillIn(r, s) != nil {
		return nil
	}
	v, err := a.live.join(r.URL.EscapedPath(), read)
	if err != nil {
		w.Header().Del("X-Accel-Buffering")
		w.Header().Set("Retry-After", "5")
		return waitlist.Refuse(waitlist.Unavailable, "Too many pages are watched live here, or this instance is stopping. Reload the page to see what is new.")
	}
	defer a.live.leave(v)
	_ = s.control.SetReadDeadline(time.Time{}) // nothing more comes; not all writers can
	if s.send("retry: 2000\n\n") != nil {
		return nil
	}
	a.follow(r, v, s)
	return nil
}

func (a *Admin) follow(r *http.Request, v *viewer, s *sse) {
	check, quiet := time.NewTicker(liveCheck), time.NewTicker(liveQuiet)
	defer check.Stop()
	defer quiet.Stop()
	sent := parts{}
	var err error
	for err == nil {
		select {
		case <-v.news:
			err = s.changed(a.live.newest(v), sent)
		case <-quiet.C:
			err = s.send(": still here\n\n")
		case <-check.C:
			err = a.stillIn(r, s)
		case <-v.check:
			err = a.stillIn(r, s)
		case <-r.Context().Done():
			return
		case <-a.live.end:
			return
		}
	}
}

// stillIn says with an error that the session is over, and tells the browser. To
// watch is no use of the session: it does not lengthen it.
func (a *Admin) stillIn(r *http.Request, s *sse) error {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	who, err := a.records.Session(ctx, a.users.keys(a.token(r)), 0)
	if err != nil || who != "" {
		return nil // a database that does not answer ends no session
	}
	_ = s.event("over", "You are logged out.")
	return errNoStream
}

// sse writes events to a browser.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *sse) send(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(liveWrite))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *sse) event(name, data string) error {
	return s.send(fmt.Sprintf("event: %s\ndata: %s\n\n", name, strings.ReplaceAll(data, "\n", "\ndata: ")))
}

// changed sends the parts that are not as they were sent.
func (s *sse) changed(now, sent parts) error {
	for name, html := range now {
		if sent[name] == html {
			continue
		}
		if err := s.event("part", name+"\n"+html); err != nil {
			return err
		}
		sent[name] = html
	}
	return nil
}
