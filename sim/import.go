package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
)

// ImportReport is what an import did. Errors holds the first hundred.
type ImportReport struct {
	Imported int           `json:"imported"`
	Existing int           `json:"existing"`
	Rejected int           `json:"rejected"`
	Errors   []ImportError `json:"errors"`
}

// ImportError names a line, counted from 1, and what was wrong with it.
type ImportError struct {
	Line   int    `json:"line"`
	Detail string `json:"detail"`
}

// Import streams joins as NDJSON; their order is the order of places. The
// sequence is drawn on another goroutine, which has ended when Import returns.
// progress, where given, is called there now and then with the lines sent so far,
// and once after the last.
func (a *App) Import(ctx context.Context, show string, joins iter.Seq[Join], progress func(sent int)) (ImportReport, error) {
	var out ImportReport
	p := path("v1", "shows", show) + "/entries:import"
	reader, writer := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.c.base()+p, reader)
	if err != nil {
		return out, fmt.Errorf("import: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	wrote := make(chan error, 1)
	go func() {
		err := writeLines(writer, joins, progress)
		writer.CloseWithError(err)
		wrote <- err
	}()
	_, err = a.c.roundTrip(http.MethodPost+" "+p, req, &out)
	reader.Close() // an answer before the end of the stream stops the writer
	if wrongLine := <-wrote; wrongLine != nil && !errors.Is(wrongLine, io.ErrClosedPipe) {
		err = fmt.Errorf("import: %w", wrongLine)
	}
	return out, err
}

const progressEvery = 500

func writeLines(w io.Writer, joins iter.Seq[Join], progress func(sent int)) error {
	if progress == nil {
		progress = func(int) {}
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(buffered)
	sent := 0
	for j := range joins {
		if err := lines.Encode(j); err != nil {
			return err
		}
		if sent++; sent%progressEvery == 0 {
			progress(sent)
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	progress(sent)
	return nil
}
