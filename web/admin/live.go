package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"fanline/waitlist"
)

const (
	// liveEvery is how often what the streams show is read, once for all of them.
	liveEvery = 2 * time.Second
	// liveMost is how many streams one process serves; each is a browser tab that is
	// looked at.
	liveMost = 200
	// liveCheck is how often a stream looks whether its session still is one.
	liveCheck = 5 * time.Second
	// liveQuiet is after how long without news a stream says that it is there.
	liveQuiet = 15 * time.Second
	// liveWrite is how long a browser may take to read what is sent.
	liveWrite = 10 * time.Second
)

// parts are pieces of a page as HTML, by their names.
type parts map[string]string

// liveBoard has one goroutine that reads the overview, while somebody looks at it, and
// hands it to all who do. A stream is the goroutine of its request.
type liveBoard struct {
	read  func(ctx context.Context) (parts, error)
	every time.Duration
	log   *slog.Logger

	run sync.WaitGroup // the reader and the streams
	end chan struct{}  // closed by stop

	mu      sync.Mutex
	stopped bool
	viewers map[*viewer]bool
	latest  parts
	cancel  context.CancelFunc // of the reader, which runs while there are viewers
}

// viewer is one stream. Its channels hold one signal, which loses nothing: who gets
// it looks at what is newest.
type viewer struct {
	news  chan struct{}
	check chan struct{} // look at the session
}

func newLiveBoard(read func(context.Context) (parts, error), log *slog.Logger) *liveBoard {
	return &liveBoard{read: read, every: liveEvery, log: log, end: make(chan struct{}), viewers: map[*viewer]bool{}}
}

// stop ends the streams and waits for them and for the reader. It may be called
// twice.
func (l *liveBoard) stop() {
	l.mu.Lock()
	if !l.stopped {
		l.stopped = true
		close(l.end)
	}
	l.mu.Unlock()
	l.run.Wait()
}

var errNoStream = errors.New("no stream")

func (l *liveBoard) join() (*viewer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.viewers) >= liveMost {
		return nil, errNoStream
	}
	v := &viewer{news: make(chan struct{}, 1), check: make(chan struct{}, 1)}
	l.viewers[v] = true
	l.run.Add(1)
	if l.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		l.cancel = cancel
		l.run.Go(func() { l.readLoop(ctx) })
	} else {
		signal(v.news)
	}
	return v, nil
}

func (l *liveBoard) leave(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.viewers, v)
	if len(l.viewers) == 0 {
		l.cancel()
		l.cancel, l.latest = nil, nil
	}
	l.run.Done()
}

func (l *liveBoard) readLoop(ctx context.Context) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		l.readOnce(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-l.end:
			return
		}
	}
}

func (l *liveBoard) readOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := l.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.log.Warn("the overview could not be read", "err", err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = got
	for v := range l.viewers {
		signal(v.news)
	}
}

// recheck has every stream look at its session now.
func (l *liveBoard) recheck() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for v := range l.viewers {
		signal(v.check)
	}
}

func (l *liveBoard) newest() parts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// stream sends the parts of the overview that changed, until the browser goes, the
// session ends or the process stops.
func (a *Admin) stream(w http.ResponseWriter, r *http.Request) error {
	s := &sse{w: w, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if a.stillIn(r, s) != nil {
		return nil
	}
	v, err := a.live.join()
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
			err = s.changed(a.live.newest(), sent)
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
		if err := s.event("part", name+" "+version(html)+"\n"+html); err != nil {
			return err
		}
		sent[name] = html
	}
	return nil
}

// version names a part's content.
func version(html string) string {
	sum := sha256.Sum256([]byte(html))
	return hex.EncodeToString(sum[:8])
}
