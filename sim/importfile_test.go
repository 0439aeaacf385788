package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// lineServer takes imports: it keeps the lines that came in whole requests, refuses those that say so, and fails when it
// is told to.
type lineServer struct {
	csv   bool
	lines []string
	parts int
	fail  func(part int, w http.ResponseWriter) bool
}

func (s *lineServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.parts++
	if s.fail != nil && s.fail(s.parts, w) {
		return
	}
	report := ImportReport{}
	for i, line := range strings.Split(strings.TrimSuffix(string(body), "\n"), "\n") {
		switch {
		case s.csv && i == 0:
			if line != "fan_id,tier" {
				http.Error(w, "no header: "+line, http.StatusUnprocessableEntity)
				return
			}
		case strings.Contains(line, "bad") || len(line) > 64<<10:
			report.Rejected++
			report.Errors = append(report.Errors, ImportError{i + 1, "refused"})
		case line != "":
			report.Imported++
			s.lines = append(s.lines, line)
		}
	}
	_ = json.NewEncoder(w).Encode(report)
}

func importLinesOf(t *testing.T, s *lineServer, kind, file string) (FileReport, []error, error) {
	t.Helper()
	srv := httptest.NewServer(s)
	defer srv.Close()
	app := NewApp([]string{srv.URL}, "key")
	defer app.Close()
	app.c.pause = func(context.Context, time.Duration) error { return nil }
	var troubles []error
	done, err := app.ImportFile(t.Context(), "s", kind, strings.NewReader(file), func(r FileReport) {
		if r.Trouble != nil {
			troubles = append(troubles, r.Trouble)
		}
	})
	return done, troubles, err
}

func fileOf(n int, line func(i int) string) string {
	var b bytes.Buffer
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

func TestAFileIsImportedInPartsInOrder(t *testing.T) {
	t.Parallel()
	const n = 2*partLines + 77
	s := &lineServer{}
	file := fileOf(n, func(i int) string {
		if i == partLines+4 {
			return "bad"
		}
		return fmt.Sprint("fan", i)
	})
	done, _, err := importLinesOf(t, s, NDJSON, strings.TrimSuffix(file, "\n"))
	if err != nil || s.parts != 3 || done.Imported != n-1 || done.Lines != n || done.Bytes != int64(len(file))-1 {
		t.Fatalf("%d parts, %+v, %v", s.parts, done, err)
	}
	if len(done.Errors) != 1 || done.Errors[0].Line != partLines+5 {
		t.Errorf("refused: %v", done.Errors)
	}
	if s.lines[0] != "fan0" || s.lines[n-2] != fmt.Sprint("fan", n-1) {
		t.Errorf("from %s to %s", s.lines[0], s.lines[n-2])
	}
}

func TestEachPartOfCSVHasTheHeader(t *testing.T) {
	t.Parallel()
	s := &lineServer{csv: true}
	file := "\nfan_id,tier\n" + fileOf(partLines+10, func(i int) string {
		if i == 2 || i == partLines+3 {
			return "bad,"
		}
		return fmt.Sprint("fan", i, ",")
	})
	done, _, err := importLinesOf(t, s, CSV, file)
	if err != nil || s.parts != 2 || done.Imported != partLines+8 {
		t.Fatalf("%d parts, %+v, %v", s.parts, done, err)
	}
	if len(done.Errors) != 2 || done.Errors[0].Line != 5 || done.Errors[1].Line != partLines+6 {
		t.Errorf("refused: %v", done.Errors)
	}
}

func TestOnlyThePartThatBrokeIsSentAgain(t *testing.T) {
	t.Parallel()
	s := &lineServer{fail: func(part int, w http.ResponseWriter) bool {
		switch part {
		case 2:
			panic(http.ErrAbortHandler) // the connection breaks
		case 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return part == 3
	}}
	const n = 3 * partLines
	done, troubles, err := importLinesOf(t, s, NDJSON, fileOf(n, func(i int) string { return fmt.Sprint("fan", i) }))
	if err != nil || s.parts != 5 || len(troubles) != 2 || len(s.lines) != n || done.Trouble != nil {
		t.Errorf("%d parts, %d lines, troubles %v, %v", s.parts, len(s.lines), troubles, err)
	}
}

func TestARefusalEndsAnImport(t *testing.T) {
	t.Parallel()
	s := &lineServer{fail: func(_ int, w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusGone)
		return true
	}}
	_, _, err := importLinesOf(t, s, NDJSON, "fan\n")
	if p, ok := err.(*Problem); !ok || p.Status != http.StatusGone || s.parts != 1 {
		t.Errorf("%d parts, %v", s.parts, err)
	}
}

func TestALineWithoutAnEndIsNotHeldWhole(t *testing.T) {
	t.Parallel()
	s := &lineServer{}
	done, _, err := importLinesOf(t, s, NDJSON, "a\n"+strings.Repeat("x", 5<<20)+"\nb")
	if err != nil || done.Rejected != 1 || done.Errors[0].Line != 2 || strings.Join(s.lines, " ") != "a b" {
		t.Errorf("%+v, %v, %v", done, s.lines, err)
	}
}

func TestAnImportSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := NewImportBar(&out, true, 1000)
	b.start = b.start.Add(-10 * time.Second)
	b.Set(FileReport{ImportReport: ImportReport{Imported: 40_000, Existing: 5, Rejected: 2}, Lines: 40_007, Bytes: 500})
	for _, want := range []string{"50%", "imported 40,000, existing 5, rejected 2", "lines/s", "10 s left"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
	out.Reset()
	b.Done(FileReport{ImportReport: ImportReport{Rejected: 3, Errors: []ImportError{{7, "fan_id is missing"}}}})
	if s := out.String(); !strings.Contains(s, "line 7: fan_id is missing\nand 2 more\n") {
		t.Errorf("%q", s)
	}
}

// Such as a file whose lines end as no other's, and which is all header.
func TestAFileWithoutLinesIsTheServersToJudge(t *testing.T) {
	t.Parallel()
	if _, _, err := importLinesOf(t, &lineServer{csv: true}, CSV, "fan_id,tier\rada,\rgrace,\r"); err == nil {
		t.Error("a wrong header that no line follows is taken")
	}
	for _, file := range []string{"", "\n", "fan_id,tier\n"} {
		s := &lineServer{csv: file != "" && file != "\n"}
		done, _, err := importLinesOf(t, s, CSV, file)
		if err != nil || s.parts != 1 || done.Imported != 0 {
			t.Errorf("%q: %d requests, %+v, %v", file, s.parts, done, err)
		}
	}
}
