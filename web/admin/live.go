package admin

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// liveEvery is how often a page that is watched is read, once for all who watch it.
	liveEvery = 2 * time.Second
	// liveMost is how many streams one process serves; each is a browser tab that is
	// looked at.
	liveMost = 200
	// liveReads is how many pages one process reads at a time, however many are watched:
	// where they are more than it can read in time, each is renewed less often.
	liveReads = 2
	// liveCheck is how often a stream looks whether its session still is one.
	liveCheck = 5 * time.Second
	// liveQuiet is after how long without news a stream says that it is there.
	liveQuiet = 15 * time.Second
	// liveWrite is how long a browser may take to read what is sent.
	liveWrite = 10 * time.Second
)

// parts are pieces of a page as HTML, by their names.
type parts map[string]string

// liveRead reads a page's parts. What it costs is bounded, whatever the length of a
// line. It is called by one goroutine at a time.
type liveRead func(ctx context.Context) (parts, error)

// liveBoards has a goroutine for each page that somebody looks at, which reads it and
// hands it to all who do. A stream is the goroutine of its request.
type liveBoards struct {
	every time.Duration
	log   *slog.Logger
	reads chan struct{} // reads going on

	run sync.WaitGroup // the readers and the streams
	end chan struct{}  // closed by stop

	mu      sync.Mutex
	stopped bool
	viewers int
	boards  map[string]*liveBoard // by their pages; those that are looked at
}

// liveBoard is a page that is looked at. liveBoards.mu guards it.
type liveBoard struct {
	page    string
	viewers map[*viewer]bool
	latest  parts
	cancel  context.CancelFunc // of the reader
}

// viewer is one stream. Its channels hold one signal, which loses nothing: who gets
// it looks at what is newest.
type viewer struct {
	board *liveBoard
	news  chan struct{}
	check chan struct{} // look at the session
}

func newLiveBoards(log *slog.Logger) *liveBoards {
	return &liveBoards{
		every: liveEvery, log: log, reads: make(chan struct{}, liveReads),
		end: make(chan struct{}), boards: map[string]*liveBoard{},
	}
}

// stop ends the streams and waits for them and for the readers. It may be called
// twice.
func (l *liveBoards) stop() {
	l.mu.Lock()
	if !l.stopped {
		l.stopped = true
		close(l.end)
	}
	l.mu.Unlock()
	l.run.Wait()
}

var errNoStream = errors.New("no stream")

// join looks at a page, which read reads from now on if nobody else looks at it.
func (l *liveBoards) join(page string, read liveRead) (*viewer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.viewers >= liveMost {
		return nil, errNoStream
	}
	b := l.boards[page]
	if b == nil {
		ctx, cancel := context.WithCancel(context.Background())
		b = &liveBoard{page: page, viewers: map[*viewer]bool{}, cancel: cancel}
		l.boards[page] = b
		l.run.Go(func() { l.readLoop(ctx, b, read) })
	}
	v := &viewer{board: b, news: make(chan struct{}, 1), check: make(chan struct{}, 1)}
	b.viewers[v] = true
	l.viewers++
	l.run.Add(1)
	if b.latest != nil {
		signal(v.news)
	}
	return v, nil
}

func (l *liveBoards) leave(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := v.board
	delete(b.viewers, v)
	l.viewers--
	if len(b.viewers) == 0 {
		b.cancel()
		delete(l.boards, b.page)
	}
	l.run.Done()
}

func (l *liveBoards) readLoop(ctx context.Context, b *liveBoard, read liveRead) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case l.reads <- struct{}{}:
			l.readOnce(ctx, b, read)
			<-l.reads
		case <-ctx.Done():
			return
		case <-l.end:
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-l.end:
			return
		}
	}
}

func (l *liveBoards) readOnce(ctx context.Context, b *liveBoard, read liveRead) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := read(ctx)
	if err != nil {
		if _, _, refusal := refused(err); !refusal && ctx.Err() == nil {
			l.log.Warn("a page that is watched could not be read", "page", b.page, "err", err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b.latest = got
	for v := range b.viewers {
		signal(v.news)
	}
}

// recheck has every stream look at its session now.
func (l *liveBoards) recheck() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.boards {
		for v := range b.viewers {
			signal(v.check)
		}
	}
}

func (l *liveBoards) newest(v *viewer) parts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return v.board.latest
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
