package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"fanline/waitlist"
)

func (r *rig) imports(ct string, body io.Reader) *response {
	r.t.Helper()
	req := httptest.NewRequest("POST", "/v1/shows/s1/entries:import", body)
	req.Header.Set("Authorization", "Bearer "+appSecret)
	if ct != "" {
		req.Header.Set("Content-Type", ct)
	}
	return r.send(req)
}

func errorsOf(v map[string]any) map[int]string {
	m := map[int]string{}
	for _, e := range list(v["errors"]) {
		e := e.(map[string]any)
		m[int(e["line"].(float64))] = e["detail"].(string)
	}
	return m
}

func TestImportNDJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.joinErrs = map[string]error{"refused": waitlist.Refuse(waitlist.Conflict, "not you")}
	body := "\ufeff" + strings.Join([]string{
		`{"fan_id":"a","party_size":2,"tier":"floor","joined_at":"2026-09-01T12:00:00Z"}`,
		``,
		`{"fan_id":"b"}` + "\r",
		`{"fan_id":"b b"}`,
		`not json`,
		`{"fan_id":"c","seat":1}`,
		`{"fan_id":"` + strings.Repeat("x", maxLine) + `"}`,
		`{"fan_id":"refused"}`,
		"{\"fan_id\":\"\xff\"}",
		`{"fan_id":"d"}`,
	}, "\n")
	got := r.imports("application/x-ndjson; charset=utf-8", strings.NewReader(body)).json(200)
	if got["imported"] != 3.0 || got["existing"] != 0.0 || got["rejected"] != 6.0 {
		t.Errorf("%v", got)
	}
	want := map[int]string{
		4: "fan_id may hold only A-Z a-z 0-9 . _ - : | @ +",
		5: "not valid JSON at column 2: invalid character 'o' in literal null (expecting 'u')",
		6: "seat is not a field of this request",
		7: "the line is longer than 64 KiB",
		8: "not you",
		9: "body is not valid UTF-8",
	}
	if diff := cmp.Diff(want, errorsOf(got)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	batch := r.store.argsOf(t, "Join")[1].([]waitlist.Join)
	if diff := cmp.Diff(waitlist.Join{FanID: "a", Party: 2, Tier: "floor", JoinedAt: batch[0].JoinedAt}, batch[0]); diff != "" || batch[0].JoinedAt.IsZero() {
		t.Error(diff)
	}
}

func TestImportCSV(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := "\ufefffan_id, party_size,joined_at,tier\r\n" + strings.Join([]string{
		`a,2,2026-09-01T12:00:00Z,floor`,
		`b,,,`,
		`"c",3,,"balcony, left"`,
		`d,two,,`,
		`e,1`,
		`f,1,yesterday,`,
		`"g,1,,`,
		`,1,,`,
		`h,0,,`,
		`i,1,,`,
	}, "\r\n") + "\r\n"
	got := r.imports("text/csv", strings.NewReader(body)).json(200)
	if got["imported"] != 4.0 || got["rejected"] != 6.0 {
		t.Errorf("%v", got)
	}
	want := map[int]string{
		5:  "party_size must be a whole number",
		6:  "the line has 2 fields; the header has 4",
		7:  "joined_at must be an RFC 3339 time such as 2026-09-01T19:30:00Z",
		8:  "the line's quotes do not match",
		9:  "fan_id is required: 1 to 64 characters of A-Z a-z 0-9 . _ - : | @ +",
		10: "party_size must be 1 to 20",
	}
	if diff := cmp.Diff(want, errorsOf(got)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	var fans []string
	for _, j := range r.store.argsOf(t, "Join")[1].([]waitlist.Join) {
		fans = append(fans, fmt.Sprint(j.FanID, j.Party, j.Tier))
	}
	if diff := cmp.Diff([]string{"a2floor", "b1", "c3balcony, left", "i1"}, fans); diff != "" {
		t.Error(diff)
	}
	for header, word := range map[string]string{
		"fan,party_size": "is not a column", "fan_id,fan_id": "twice", "tier": "fan_id is missing", `"fan_id`: "quotes", "fan_id,": "is not a column",
	} {
		p := newRig(t).imports("text/csv", strings.NewReader(header+"\na,1\n")).problem(400, "invalid", "body")
		if !strings.Contains(p["detail"].(string), word) {
			t.Errorf("%s: %v", header, p["detail"])
		}
	}
}

func TestImportsGoInBatchesInTheOrderOfTheLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.created = false
	pr, pw := io.Pipe()
	go func() {
		for i := range 2500 {
			_, _ = fmt.Fprintf(pw, "{\"fan_id\":\"f%d\"}\n", i)
		}
		_ = pw.Close()
	}()
	got := r.imports("", pr).json(200)
	if got["imported"] != 0.0 || got["existing"] != 2500.0 || len(list(got["errors"])) != 0 {
		t.Errorf("%v", got)
	}
	if diff := cmp.Diff([]int{1000, 1000, 500}, r.store.batches); diff != "" {
		t.Error(diff)
	}
	last := r.store.argsOf(t, "Join")[1].([]waitlist.Join)
	if last[0].FanID != "f2000" || last[499].FanID != "f2499" {
		t.Errorf("%v ... %v", last[0], last[499])
	}
}

func TestImportNamesTheFirstHundredErrors(t *testing.T) {
	t.Parallel()
	got := newRig(t).imports("", strings.NewReader(strings.Repeat("{}\n", 1500))).json(200)
	if got["rejected"] != 1500.0 || len(list(got["errors"])) != 100 || len(errorsOf(got)) != 100 || errorsOf(got)[100] == "" {
		t.Errorf("%v", got)
	}
}

func TestABrokenImportSaysWhatIsIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lines := strings.Repeat("{\"fan_id\":\"a\"}\n", 1000)
	p := r.imports("", io.MultiReader(strings.NewReader(lines), iotest.ErrReader(io.ErrUnexpectedEOF))).problem(400, "invalid", "body")
	if !strings.Contains(p["detail"].(string), "1000 lines are in") {
		t.Errorf("%v", p)
	}
	r = newRig(t)
	r.store.joinErrs = map[string]error{"b": errors.New("secret")}
	r.imports("", strings.NewReader(lines+`{"fan_id":"b"}`)).problem(500, "internal", "")
	r = newRig(t)
	r.store.err = waitlist.Refuse(waitlist.Closed, "cancelled")
	r.imports("", strings.NewReader(lines)).problem(410, "closed", "")
	r = newRig(t)
	r.imports("application/json", strings.NewReader(`[]`)).problem(415, "invalid", "Content-Type")
	if got := r.imports("", http.NoBody).json(200); got["imported"] != 0.0 {
		t.Errorf("%v", got)
	}
}

// Whatever comes in, every line that is not blank is counted once, errors are in
// the order of the lines, and what joins is what the rules allow.
func FuzzImport(f *testing.F) {
	f.Add(true, []byte("fan_id,tier\na,b\n\"c\n\n,\n"))
	f.Add(false, []byte("{\"fan_id\":\"a\"}\n{\n\nnull\n{\"fan_id\":1}"))
	f.Add(false, []byte("\ufeff[]\r\n\r\n\xff"))
	f.Fuzz(func(t *testing.T, csv bool, body []byte) {
		ndjson := format{nil, parseNDJSON}
		form := ndjson
		if csv {
			form = formatOf(http.Header{"Content-Type": {"text/csv"}})
		}
		joins := 0
		imp := &importer{name: func([]waitlist.Join) error { return nil }, join: func(batch []waitlist.Join) ([]waitlist.Joined, error) {
			joins += len(batch)
			return make([]waitlist.Joined, len(batch)), nil
		}}
		if err := imp.run(bytes.NewReader(body), form); err != nil {
			if !csv {
				t.Fatal(err)
			}
			return // a bad header
		}
		lines := 0
		for i, line := range bytes.Split(body, []byte("\n")) {
			if i == 0 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(bytes.TrimSpace(line)) > 0 || len(line) > maxLine {
				lines++
			}
		}
		if csv && lines > 0 {
			lines--
		}
		if d := imp.done; d.Existing != joins || d.Existing+d.Rejected != lines {
			t.Fatalf("%+v, %d joins, %d lines", d, joins, lines)
		}
		for i := 1; i < len(imp.done.Errors); i++ {
			if imp.done.Errors[i-1].Line >= imp.done.Errors[i].Line {
				t.Fatalf("%v", imp.done.Errors)
			}
		}
	})
}
