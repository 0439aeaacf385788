package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"fanline/waitlist"
)

const (
	importBatch  = 1000
	importErrors = 100
)

// Imported is what became of an import.
type Imported struct {
	Imported int         `json:"imported" doc:"New entries."`
	Existing int         `json:"existing" doc:"Fans who stood in line already; they keep their places."`
	Rejected int         `json:"rejected" doc:"Lines that were not taken."`
	Errors   []LineError `json:"errors" nullable:"false" doc:"Why, for the first 100."`
}

// LineError is why a line was rejected.
type LineError struct {
	Line   int    `json:"line" doc:"From 1; the header of CSV is line 1."`
	Detail string `json:"detail"`
}

func (s *Server) importCalls() {
	op := doc("Line", "POST", "/v1/shows/{show}/entries:import", "import-entries",
		"Put many fans in line, in the order of the lines", 400, 404, 410, 415)
	op.Description = "Streams in and has no limit but 64 KiB a line. CSV begins with a line that names its columns. " +
		"An import that breaks off can be sent again from the start: who is in line keeps the place."
	op.Parameters = s.paramsOf(ShowPath{})
	lines := &huma.Schema{Type: huma.TypeString, Description: "Lines with the fields of JoinRequest."}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/x-ndjson": {Schema: lines, Example: "{\"fan_id\":\"ada\",\"party_size\":2}\n{\"fan_id\":\"grace\"}\n"},
		"text/csv":             {Schema: lines, Example: "fan_id,party_size,tier,joined_at\nada,2,,\ngrace,,floor,\n"},
	}}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "What became of the lines", Content: map[string]*huma.MediaType{"application/json": {Schema: s.schemaOf(Imported{})}},
	}}
	s.plain(op, s.importEntries)
}

func (s *Server) importEntries(w http.ResponseWriter, r *http.Request) {
	show := r.PathValue("show")
	if err := waitlist.CheckID("show", show); err != nil {
		s.problem(r.Context(), err).write(w)
		return
	}
	if p := checkType(r.Header, "application/x-ndjson", "text/csv"); p != nil {
		p.write(w)
		return
	}
	control := http.NewResponseController(w)
	bound(control, time.Time{})
	imp := &importer{
		name: func(batch []waitlist.Join) error {
			ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
			defer cancel()
			return s.cfg.Lines.NameFans(ctx, batch)
		},
		join: func(batch []waitlist.Join) ([]waitlist.Joined, error) {
			ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
			defer cancel()
			return s.cfg.Lines.JoinMany(ctx, show, batch)
		},
	}
	err := imp.run(&patientReader{r.Body, control}, formatOf(r.Header))
	if err == nil && imp.done.Imported+imp.done.Existing == 0 { // no line got as far as the show
		err = s.mayImport(r.Context(), show)
	}
	bound(control, time.Now().Add(patience))
	if err != nil {
		p := *s.problem(r.Context(), err)
		if n := imp.done.Imported + imp.done.Existing; n > 0 {
			p.Detail += fmt.Sprintf(" (%d lines are in; send it again from the start)", n)
		}
		p.write(w)
		return
	}
	writeJSON(w, http.StatusOK, imp.done)
}

// mayImport refuses an import to a show that takes no joins.
func (s *Server) mayImport(ctx context.Context, show string) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	sh, err := s.cfg.Lines.Show(ctx, show)
	if err != nil {
		return err
	}
	return sh.Shut()
}

// patientReader lets a body take its time, but not stand still.
type patientReader struct {
	r       io.Reader
	control *http.ResponseController
}

func (p *patientReader) Read(b []byte) (int, error) {
	// It goes again after each read: net/http reads on past the body's end, and an
	// expired one would end the context of the last batch.
	_ = p.control.SetReadDeadline(time.Now().Add(bodyPatience))
	defer func() { _ = p.control.SetReadDeadline(time.Time{}) }()
	return p.r.Read(b)
}

// importer reads lines and joins them in batches. While one batch joins, the fans of
// the next are named and the one after that is read: no more are held.
type importer struct {
	name func([]waitlist.Join) error
	join func([]waitlist.Join) ([]waitlist.Joined, error)
	// done is what became of the lines, once run has returned.
	done Imported
}

// importLines are some lines of an import, also those that cannot join, so that errors
// come in the order of the lines.
type importLines struct {
	lines []importLine
	joins []waitlist.Join // of those that can, in order
}

type importLine struct {
	n   int
	err error
}

// run imports everything in r. An error ends it: a Problem of the whole, or what name,
// join or r returned. Whole batches read before it are in.
func (imp *importer) run(r io.Reader, f format) error {
	imp.done.Errors = []LineError{}
	read, named := make(chan *importLines), make(chan *importLines)
	g, failed := errgroup.WithContext(context.Background())
	g.Go(func() error {
		defer close(named)
		for b := range read {
			if err := imp.name(b.joins); err != nil {
				return fmt.Errorf("import: %w", err)
			}
			select {
			case named <- b:
			case <-failed.Done():
				return nil
			}
		}
		return nil
	})
	g.Go(func() error {
		for b := range named {
			if err := imp.take(b); err != nil {
				return err
			}
		}
		return nil
	})
	err := imp.read(r, f, func(b *importLines) bool {
		select {
		case read <- b:
			return true
		case <-failed.Done():
			return false
		}
	})
	close(read)
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return err
}

// read takes r apart into batches, and hands them to next until that says no.
func (imp *importer) read(r io.Reader, f format, next func(*importLines) bool) error {
	lines, b := newLines(r), &importLines{}
	for {
		text, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			next(b)
			return nil
		case err != nil && !errors.Is(err, errLongLine):
			return bodyProblem(err)
		case err == nil && len(bytes.TrimSpace(text)) == 0:
			continue
		case f.header != nil:
			if err == nil {
				err = f.header(text)
			}
			if err != nil {
				return unreadable(FieldError{"body", fmt.Sprintf("line %d: %v", lines.n, err)})
			}
			f.header = nil
			continue
		}
		b.add(lines.n, text, f, err)
		if len(b.lines) == importBatch {
			if !next(b) {
				return nil
			}
			b = &importLines{lines: make([]importLine, 0, importBatch), joins: make([]waitlist.Join, 0, importBatch)}
		}
	}
}

// add keeps of a line what can join, or why it cannot.
func (b *importLines) add(n int, text []byte, f format, err error) {
	var j waitlist.Join
	if err == nil {
		j, err = f.parse(text)
	}
	if err == nil {
		err = j.Check()
	}
	if err == nil {
		b.joins = append(b.joins, j)
	}
	b.lines = append(b.lines, importLine{n, err})
}

// take joins a batch and counts what became of it.
func (imp *importer) take(b *importLines) error {
	var joined []waitlist.Joined
	if len(b.joins) > 0 {
		var err error
		if joined, err = imp.join(b.joins); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	for _, l := range b.lines {
		if l.err != nil {
			imp.reject(l.n, detailOf(l.err))
			continue
		}
		j := joined[0]
		joined = joined[1:]
		if err := imp.count(l.n, j); err != nil {
			return err
		}
	}
	return nil
}

func detailOf(err error) string {
	if e, ok := errors.AsType[*waitlist.Error](err); ok {
		return e.Detail
	}
	return err.Error()
}

func (imp *importer) count(line int, j waitlist.Joined) error {
	if e, ok := errors.AsType[*waitlist.Error](j.Err); ok {
		imp.reject(line, e.Detail)
		return nil
	}
	if j.Err != nil {
		return fmt.Errorf("import line %d: %w", line, j.Err)
	}
	if j.New {
		imp.done.Imported++
	} else {
		imp.done.Existing++
	}
	return nil
}

func (imp *importer) reject(line int, detail string) {
	imp.done.Rejected++
	if len(imp.done.Errors) < importErrors {
		imp.done.Errors = append(imp.done.Errors, LineError{line, detail})
	}
}
