package admin

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

// watch opens the overview's stream.
func (b *browser) watch() *watched {
	b.w.t.Helper()
	return b.watchAt("/admin/live")
}

// watchAt opens a page's stream, which is to answer.
func (b *browser) watchAt(path string) *watched {
	t := b.w.t
	t.Helper()
	res, err := b.http.Do(b.request(http.MethodGet, path, nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream answers %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	t.Cleanup(func() { res.Body.Close() })
	return &watched{t, res.Body, bufio.NewReader(res.Body)}
}

type watched struct {
	t    testing.TB
	body io.Closer
	in   *bufio.Reader
}

// next is the next event's name and data; "" at the end of the stream.
func (w *watched) next() (name, data string) {
	w.t.Helper()
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return "", ""
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[7:]
		case strings.HasPrefix(line, "data: "):
			data += line[6:] + "\n"
		case line == "" && name != "":
			return name, data
		}
	}
}

// part waits for a part that says the text.
func (w *watched) part(part, text string) {
	w.t.Helper()
	for {
		name, data := w.next()
		if name == "" {
			w.t.Fatalf("the stream ended before %s said %q", part, text)
		}
		if name == "part" && strings.HasPrefix(data, part+"\n") && strings.Contains(data, text) {
			return
		}
	}
}

func TestTheOverviewShowsWhatRuns(t *testing.T) {
	t.Parallel()
	w := staged(t)
	w.staff("kim").get("/admin").is(http.StatusOK).says(
		"Marlow Vance, the reunion", "11,99", "Tuesday night", "waiting",
		"Google push", "4,200", "behind", "put off", "Nothing waits: deciding whom to tell, text messages.",
		"2,300 of 2,500 a second, 10,000 a second when all is quiet", "asked for less", "refuses our settings", "fails; resting",
		"FANLINE_SMTP_ADDR", "2 instances", "41,208 fans connected by 41,977 sockets", "this page’s",
		"In the last hour", "claims were made")
}

func TestAStreamTellsOfAFreedSeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2")
	s := w.staff("kim").watch()
	s.part("shows", "Tuesday night")
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	w.decide()
	s.part("shows", "In the last hour 1 fan was told")
}

func TestTheEndOfTheSessionEndsTheStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.staff("kim")
	s, other := b.watch(), w.staff("lee").watch()
	b.post("/admin/logout", url.Values{}).is(http.StatusOK)
	for name, data := s.next(); name != "over"; name, data = s.next() {
		if name == "" {
			t.Fatalf("the stream ended without a word (%q)", data)
		}
	}
	if name, _ := s.next(); name != "" {
		t.Errorf("%s came after the end", name)
	}
	other.part("shows", "There is no show yet") // goes on
	b.get("/admin/live").is(http.StatusOK).says("event: over")
	w.browser().get("/admin/live").says("event: over").lacks("event: part")
}

func TestWatchingKeepsNoSessionAlive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.staff("kim")
	token := b.cookie("/admin").Value
	w.sql(`UPDATE staff_sessions SET expires_at = now() + interval '30 minutes'`)
	s := b.watch()
	s.part("lanes", "transactional")
	if who, err := w.store.Session(t.Context(), usersOf(t, "kim", "lee").keys(token), 0); who != "kim" || err != nil {
		t.Fatalf("%q, %v", who, err)
	}
	w.sql(`UPDATE staff_sessions SET expires_at = now() - interval '1 second' WHERE expires_at < now() + interval '31 minutes'`)
	for name, _ := s.next(); name != "over"; name, _ = s.next() {
		if name == "" {
			t.Fatal("the stream ended without a word")
		}
	}
}

func TestStopEndsEveryStreamAndTakesNoNewOne(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	l := newLiveBoards(nil)
	read := func(context.Context) (parts, error) { reads.Add(1); return parts{"a": "b"}, nil }
	l.every = time.Hour
	var viewers []*viewer
	for range liveMost {
		v, err := l.join("/page", read)
		if err != nil {
			t.Fatal(err)
		}
		viewers = append(viewers, v)
	}
	if _, err := l.join("/page", read); err == nil {
		t.Error("there is no bound to the streams")
	}
	for _, v := range viewers {
		<-v.news
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("%d reads for %d viewers, want one for all", n, liveMost)
	}
	for _, v := range viewers {
		go func() { <-l.end; l.leave(v) }()
	}
	l.stop()
	l.stop()
	if _, err := l.join("/page", read); err == nil {
		t.Error("a stream was taken after the stop")
	}
	if l.viewers != 0 || len(l.boards) != 0 {
		t.Errorf("%d viewers and %d pages are left", l.viewers, len(l.boards))
	}
}

func TestAPartIsSentOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := &sse{w: flushed{&b}, control: http.NewResponseController(flushed{&b})}
	sent := parts{}
	for _, now := range []parts{{"a": "1\n2", "b": "1"}, {"a": "1\n2", "b": "1"}, {"a": "1\n2", "b": "2"}} {
		if err := s.changed(now, sent); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.String(), "event: part"); n != 3 {
		t.Errorf("%d events, want 3:\n%s", n, b.String())
	}
	if !strings.Contains(b.String(), "\ndata: 1\ndata: 2\n\n") {
		t.Errorf("lines are not told apart:\n%s", b.String())
	}
}

// flushed is a response that can be flushed.
type flushed struct{ *strings.Builder }

func (flushed) Header() http.Header { return http.Header{} }
func (flushed) WriteHeader(int)     {}
func (flushed) Flush()              {}

func TestInABrowserTheOverviewRenewsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("club", "Tuesday night", "The Locksmith")
	w.fans("club", "f1", "f2", "f3")
	c := w.chrome(t)
	c.login("kim")
	c.Wait(`document.getElementById('live-word').textContent === 'live'`)
	c.Wait(`window.kept = true`)
	w.free("club", waitlist.NewOpening{ID: "o1", Quantity: 1})
	w.decide()
	w.take("club", "o1", "f1")
	c.Wait(`/1 fan was told and 1 claim was made/.test(document.getElementById('part-shows').innerHTML)`)
	c.Wait(`window.kept === true`) // the page was not loaded again
	w.sql(`DELETE FROM staff_sessions`)
	c.Wait(`document.getElementById('live-word').textContent === 'You are logged out. Reload to log in again.'`)
}

func TestInABrowserAFanIsFoundInALongLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show("stadium", "Marlow Vance, the reunion", "Harbour Stadium")
	w.longLine("stadium", 200_000)
	w.free("stadium", waitlist.NewOpening{ID: "o1", Quantity: 1})
	w.decide()
	c := w.chrome(t)
	c.login("kim")
	c.at("/admin/fans")
	began := time.Now()
	c.Fill("fan", "s-150000")
	c.Submit(".narrow form button")
	t.Logf("found in %s", time.Since(began))
	c.Says("s-150000", "Marlow Vance, the reunion", "150,000", "Not told yet of o1. 149,999 fans are ahead of them")
	c.at("/admin/fans/s-1")
	c.Says("Told of o1.", "Their turn is open until")
}

func TestQueuesHaveTheirLanesAndStates(t *testing.T) {
	t.Parallel()
	table := laneTable([]notifier.QueueLoad{
		{Queue: "lane_turns"},
		{Queue: "turns_sms", Waiting: 3, Oldest: 6 * time.Second},
		{Queue: "bulk_email", Waiting: 3, Oldest: 6 * time.Second},
		{Queue: "bulk_apns", Waiting: 3, Oldest: 20 * time.Second},
		{Queue: "transactional_fcm", Paused: true},
	})
	var got []string
	for _, l := range table {
		for _, r := range l.Rows {
			got = append(got, l.Lane+" "+r.Name+" "+r.State)
		}
	}
	want := "transactional Google push paused; turns text messages behind; bulk Apple push no process serves it: see FANLINE_LANES; bulk mail flowing"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}
