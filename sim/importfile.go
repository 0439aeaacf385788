package sim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Content types of an import.
const (
	NDJSON = "application/x-ndjson"
	CSV    = "text/csv"
)

// The bounds of a part of a file, which is held in memory and sent again when its
// connection breaks.
const (
	partLines = 20_000
	partBytes = 4 << 20
	partTime  = 5 * time.Minute // for one try
	patience  = 2 * time.Minute // no try of a part begins later than this after the first
	// lineBytes is more than a server takes: a longer line is cut there, and refused.
	lineBytes = 64<<10 + 16
)

// FileReport is how far the import of a file is. What a broken part had brought in
// counts as existing when it is sent again.
type FileReport struct {
	ImportReport
	Lines int   // with an answer, the header of CSV and empty ones too
	Bytes int64 // of them
	// Trouble is why the next part is being sent again; nil: it is not.
	Trouble error
}

// ImportFile imports the lines of r, of the content type NDJSON or CSV, part by part, in
// order. It may be run again with the same lines after any interruption: those who are
// in line keep their places, and the rest follow in their order. A part is tried again
// for two minutes while the server cannot be reached or cannot serve; any other refusal
// ends the import. progress is called after each part and each failed try.
func (a *App) ImportFile(ctx context.Context, show, contentType string, r io.Reader, progress func(FileReport)) (FileReport, error) {
	var done FileReport
	parts := &fileParts{r: bufio.NewReaderSize(r, lineBytes), csv: contentType == CSV}
	for {
		p, err := parts.next()
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		report, err := a.importPart(ctx, show, contentType, p, func(trouble error) {
			done.Trouble = trouble
			progress(done)
		})
		if err != nil {
			return done, err
		}
		done.add(p, report)
		progress(done)
	}
}

func (d *FileReport) add(p filePart, r ImportReport) {
	d.Trouble = nil
	d.Imported, d.Existing, d.Rejected = d.Imported+r.Imported, d.Existing+r.Existing, d.Rejected+r.Rejected
	for _, e := range r.Errors {
		if len(d.Errors) < 100 {
			d.Errors = append(d.Errors, ImportError{p.first + e.Line - 1 - p.header, e.Detail})
		}
	}
	d.Lines, d.Bytes = p.first+p.lines-1, d.Bytes+p.read
}

// importPart sends a part until it is answered.
func (a *App) importPart(ctx context.Context, show, contentType string, p filePart, trouble func(error)) (ImportReport, error) {
	start := time.Now()
	for try := 0; ; try++ {
		var report ImportReport
		call, cancel := context.WithTimeout(ctx, partTime)
		_, err := a.c.send(call, request{
			method: http.MethodPost, path: path("v1", "shows", show) + "/entries:import", kind: contentType, body: p.body,
		}, &report)
		cancel()
		if err == nil || ctx.Err() != nil || !passing(err) || time.Since(start) > patience {
			return report, err
		}
		trouble(err)
		if err := a.c.pause(ctx, Backoff{}.Delay(try)+retryAfterOf(err)); err != nil {
			return report, err
		}
	}
}

// passing: the same request may do better later.
func passing(err error) bool {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status >= 500 || p.Status == http.StatusTooManyRequests || p.Status == http.StatusRequestTimeout
	}
	var decode *decodeError
	return !errors.As(err, &decode)
}

// filePart is some whole lines of a file.
type filePart struct {
	body   []byte
	first  int   // the number of its first line in the file, from 1
	lines  int   // of the file
	header int   // 1: body begins with the header, which is none of them
	read   int64 // bytes of the file
}

// fileParts takes a file apart. Each part of CSV begins with the file's header.
type fileParts struct {
	r      *bufio.Reader
	csv    bool
	header []byte
	begun  bool  // a part was made
	n      int   // lines read
	read   int64 // bytes read since the last part
}

// next is the part that follows. There is always a first one, so that the server has
// its say on the show and the header also where no line follows.
func (f *fileParts) next() (p filePart, err error) {
	if f.csv && f.header == nil {
		if err := f.readHeader(); err != nil && !errors.Is(err, io.EOF) {
			return p, err
		}
	}
	p.first, p.body = f.n+1, bytes.Clone(f.header)
	if f.csv {
		p.header = 1
	}
	for ; p.lines < partLines && len(p.body) < partBytes; p.lines++ {
		line, err := f.line()
		if errors.Is(err, io.EOF) && (p.lines > 0 || !f.begun) {
			break
		}
		if err != nil {
			return p, err
		}
		p.body = append(p.body, line...)
	}
	p.read, f.read, f.begun = f.read, 0, true
	return p, nil
}

// readHeader reads the first line that is not empty. A file without one is sent as it
// is, for the server to say what is missing.
func (f *fileParts) readHeader() error {
	for {
		line, err := f.line()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			f.header = bytes.Clone(line)
			return nil
		}
	}
}

// line reads a line with its end, valid until the next call. What is too long of it is
// left out.
func (f *fileParts) line() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	f.read += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		line = append(bytes.Clone(line), '\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = f.r.ReadSlice('\n')
			f.read += int64(len(more))
		}
	}
	if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f.n++
	if line[len(line)-1] != '\n' {
		line = append(bytes.Clone(line), '\n')
	}
	return line, nil
}
