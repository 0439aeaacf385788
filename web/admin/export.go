package admin

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fanline/waitlist"
)

const (
	exportPage     = 2_000 // entries read at a time
	exportsMost    = 2     // lists written at once
	exportPatience = time.Minute
)

// exportLine writes the line as CSV, page by page, so that it needs no more memory
// for two million than for forty.
func (a *Admin) exportLine(w http.ResponseWriter, r *http.Request) error {
	show, err := a.readShow(r.Context(), param(r, "show"))
	if err != nil {
		return err
	}
	select {
	case a.exports <- struct{}{}:
		defer func() { <-a.exports }()
	default:
		return waitlist.Refuse(waitlist.Unavailable, "Other lists are being written just now. Try again in a moment.")
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="line-`+show.ID+`.csv"`)
	if err := a.writeLine(w, r, &show, stateOf(r.URL.Query().Get("state"))); err != nil {
		a.log.Warn("the list of a line was cut short", "show", show.ID, "err", err)
		panic(http.ErrAbortHandler) // a list cut short must not look whole
	}
	return nil
}

func (a *Admin) writeLine(w http.ResponseWriter, r *http.Request, show *waitlist.Show, state string) error {
	out, zone := csv.NewWriter(w), zoneOf(show.TimeZone)
	out.UseCRLF = true
	if err := out.Write([]string{"position", "fan", "state", "party", "tier", "missed in a row", "joined (" + show.TimeZone + ")", "place", "entry"}); err != nil {
		return err
	}
	f := waitlist.EntryFilter{State: waitlist.State(state), Limit: exportPage}
	for {
		page, err := a.exported(r, w, show.ID, f)
		if err != nil {
			return err
		}
		for i := range page {
			if err := out.Write(record(&page[i], zone)); err != nil {
				return err
			}
		}
		out.Flush()
		if err := out.Error(); err != nil || len(page) < exportPage {
			return err
		}
		f.AfterPlace = &page[len(page)-1].Place
	}
}

// exported reads a page. A list of millions takes longer than a request may work, but
// each of its pages takes no longer, and is read by the browser in its time.
func (a *Admin) exported(r *http.Request, w http.ResponseWriter, show string, f waitlist.EntryFilter) ([]waitlist.Entry, error) {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportPatience))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, fmt.Errorf("bound the writing: %w", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	return a.line.Entries(ctx, show, f)
}

func record(e *waitlist.Entry, zone *time.Location) []string {
	position := ""
	if e.Position > 0 {
		position = strconv.FormatInt(e.Position, 10)
	}
	return []string{
		position, harmless(e.FanID), stateWords(*e), strconv.Itoa(e.Party), harmless(e.Tier), strconv.Itoa(e.Missed),
		e.JoinedAt.In(zone).Format("2006-01-02 15:04:05.000"), strconv.FormatInt(e.Place, 10), strconv.FormatInt(e.No, 10),
	}
}

// harmless keeps a spreadsheet from reading a text as a formula.
func harmless(s string) string {
	if s != "" && strings.ContainsAny(s[:1], "=+-@\t\r\n") {
		return "'" + s
	}
	return s
}
