package admin

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"fanline/waitlist"
)

const (
	wavesPerPage = 20
	seatsShown   = 500
)

type openingRow struct {
	waitlist.Opening
	Recorded string
	Ended    string
}

func rowOf(o waitlist.Opening, zone *time.Location) openingRow {
	row := openingRow{Opening: o, Recorded: clock(o.RecordedAt, zone)}
	if o.FinalAt != nil {
		row.Ended = clock(*o.FinalAt, zone)
	}
	return row
}

// SeatWords says where the opening's seats are.
func (o openingRow) SeatWords() string {
	return count(o.Confirmed) + " of " + count(o.Quantity) + " bought, " + count(o.Held) + " held, " + count(o.Free) + " " + o.freeWord()
}

func (o openingRow) freeWord() string {
	if o.State == waitlist.OpeningOpen {
		return "free"
	}
	return "handed back"
}

// openingRows is a page of a show's openings, newest first, and whether there are
// more.
func (a *Admin) openingRows(ctx context.Context, show *waitlist.Show, before int64, limit int) ([]openingRow, bool, error) {
	list, err := a.line.Openings(ctx, show.ID, before, limit+1)
	if err != nil {
		return nil, false, err
	}
	list, more := limited(list, limit)
	rows := make([]openingRow, len(list))
	for i, o := range list {
		rows[i] = rowOf(o, zoneOf(show.TimeZone))
	}
	return rows, more, nil
}

type openingsPage struct {
	Openings []openingRow
	First    bool
	Next     string
}

func (a *Admin) openings(w http.ResponseWriter, r *http.Request) error {
	v := &view{Nav: "shows", Tab: "openings"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	before := number(r, "before")
	rows, more, err := a.openingRows(r.Context(), v.Show, before, openingsPerPage)
	if err != nil {
		return err
	}
	body := openingsPage{Openings: rows, First: before == 0}
	if more {
		body.Next = link("shows", v.Show.ID, "openings") + "?before=" + strconv.FormatInt(rows[len(rows)-1].No, 10)
	}
	v.Title, v.Body = "Openings · "+v.Show.Name, body
	return a.render(w, r, "openings", v)
}

// number is a positive number of the query, or 0.
func number(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

type openingPage struct {
	openingRow
	Hold, Window, PerSeat string
	SeatKinds             []legend // how the seats stand
	SeatShares            []bar    // the same, drawn
	Seats                 []waitlist.Seat
	MoreSeats             int
	WaveRows              []waveRow
	First                 bool
	Next                  string
	Typed                 string // the reason of a cancellation, after a refusal
}

type waveRow struct {
	N                      int
	Decided, Opens, Closes string
	Fans                   int
	From, To               int64
	Ends                   []legend // how its turns stand or ended
	Shares                 []bar    // the same, drawn
	Skipped                string
}

// endsOf is how a wave's turns stand or ended, each with the colour of its state.
func endsOf(n waitlist.WaveEnds) []legend {
	var list []legend
	for _, x := range []legend{
		{waitlist.SpotBought, "bought", n.Bought},
		{waitlist.SpotHolding, "seats held", n.Held},
		{waitlist.SpotOpen, "open", n.Open},
		{waitlist.SpotUpcoming, "to come", n.Upcoming},
		{waitlist.SpotMissed, "lapsed", n.Lapsed},
		{waitlist.SpotMissed, "declined", n.Declined},
		{waitlist.SpotMissed, "seats given back", n.GaveBack},
		{waitlist.SpotMissed, "cut short by the end", n.CutShort},
		{waitlist.SpotGone, "left, removed or bought elsewhere", n.Gone},
	} {
		if x.N > 0 {
			list = append(list, x)
		}
	}
	return list
}

// sharesOf draws how turns ended, side by side.
func sharesOf(ends []legend) []bar {
	all, before := 0, 0
	for _, x := range ends {
		all += x.N
	}
	bars := make([]bar, len(ends))
	for i, x := range ends {
		bars[i] = bar{X: percent(float64(before) / float64(all)), W: percent(float64(x.N) / float64(all)), Shows: x.Shows}
		before += x.N
	}
	return bars
}

// seatsOf is how an opening's seats stand, each with the colour of its state.
func seatsOf(o *openingRow) []legend {
	free := legend{waitlist.SpotOpen, o.freeWord(), o.Free}
	if o.State != waitlist.OpeningOpen {
		free.Shows = waitlist.SpotGone
	}
	list := []legend{{waitlist.SpotBought, "bought", o.Confirmed}, {waitlist.SpotHolding, "held", o.Held}, free}
	return slices.DeleteFunc(list, func(x legend) bool { return x.N == 0 })
}

// withOpening reads the show and the opening of the path.
func (a *Admin) withOpening(r *http.Request, v *view) (*openingPage, error) {
	if err := a.withShow(r, v); err != nil {
		return nil, err
	}
	id := param(r, "opening")
	if waitlist.CheckID("opening", id) != nil {
		return nil, waitlist.Refuse(waitlist.NotFound, "There is no such opening.")
	}
	body, err := a.readOpening(r.Context(), v, id)
	if err == nil {
		body.Typed = r.PostForm.Get("reason")
	}
	return body, err
}

func (a *Admin) readOpening(ctx context.Context, v *view, id string) (*openingPage, error) {
	o, err := a.line.Opening(ctx, waitlist.OpeningRef{ShowID: v.Show.ID, OpeningID: id})
	if err != nil {
		return nil, err
	}
	p := &openingPage{
		openingRow: rowOf(o, v.Zone()), Hold: lasting(o.Hold), Window: lasting(o.Window), PerSeat: milli(o.FansPerSeat),
	}
	p.SeatKinds = seatsOf(&p.openingRow)
	p.SeatShares = sharesOf(p.SeatKinds)
	return p, nil
}

func (a *Admin) opening(w http.ResponseWriter, r *http.Request) error {
	v := &view{Nav: "shows", Tab: "openings"}
	body, err := a.withOpening(r, v)
	if err != nil {
		return err
	}
	before := int(min(number(r, "before"), 1<<31-1))
	waves, err := a.readWaves(r.Context(), v, body, before)
	if err != nil {
		return err
	}
	if err := a.fillOpening(r.Context(), v, body, waves); err != nil {
		return err
	}
	if body.First = before == 0; body.First { // earlier waves are over
		v.Live = link("shows", v.Show.ID, "openings", body.ID, "live")
	}
	v.Title, v.Body = body.ID+" · "+v.Show.Name, body
	return a.render(w, r, "opening", v)
}

// openingParts are the parts of an opening's page that its stream renews, by their
// templates.
var openingParts = []string{"heading", "state", "seats", "waves"}

// streamOpening is the stream of an opening's page.
func (a *Admin) streamOpening(w http.ResponseWriter, r *http.Request) error {
	return a.stream(w, r, a.liveOpening(param(r, "show"), param(r, "opening")))
}

// liveOpening reads an opening's page for its streams. Whom a wave told and skipped,
// which costs most, does not change: it is read when there is another wave.
func (a *Admin) liveOpening(show, opening string) liveRead {
	var waves []waitlist.WaveReport
	known := -1
	return func(ctx context.Context) (parts, error) {
		s, err := a.readShow(ctx, show)
		if err != nil {
			return nil, err
		}
		v := &view{Show: &s}
		body, err := a.readOpening(ctx, v, opening)
		if err != nil {
			return nil, err
		}
		if body.Waves != known {
			if waves, err = a.readWaves(ctx, v, body, 0); err != nil {
				return nil, err
			}
			known = body.Waves
		}
		if err := a.fillOpening(ctx, v, body, waves); err != nil {
			return nil, err
		}
		body.First, v.Body = true, body
		return a.renderParts("opening", openingParts, v)
	}
}

// readWaves reads a page of an opening's waves, and one more if there is one.
func (a *Admin) readWaves(ctx context.Context, v *view, body *openingPage, before int) ([]waitlist.WaveReport, error) {
	return a.line.WaveReports(ctx, waitlist.OpeningRef{ShowID: v.Show.ID, OpeningID: body.ID}, before, wavesPerPage+1)
}

// fillOpening says how the seats and the turns of the waves stand.
func (a *Admin) fillOpening(ctx context.Context, v *view, body *openingPage, waves []waitlist.WaveReport) (err error) {
	if body.Seats, err = a.records.Seats(ctx, body.No, seatsShown); err != nil {
		return err
	}
	if n := len(body.Seats); n > 0 {
		body.MoreSeats = body.Quantity - n
	}
	waves, more := limited(waves, wavesPerPage)
	plain := make([]waitlist.Wave, len(waves))
	for i := range waves {
		plain[i] = waves[i].Wave
	}
	ends, err := a.records.WaveEnds(ctx, &body.Opening, plain)
	if err != nil {
		return err
	}
	for i := range waves {
		body.WaveRows = append(body.WaveRows, waveRowOf(&waves[i], ends[waves[i].N], v.Zone(), body.RecordedAt))
	}
	if more {
		q := url.Values{"before": {strconv.Itoa(waves[len(waves)-1].N)}}
		body.Next = link("shows", v.Show.ID, "openings", body.ID) + "?" + q.Encode()
	}
	return nil
}

// waveRowOf writes the times of the day the opening was recorded without their date.
func waveRowOf(x *waitlist.WaveReport, ends waitlist.WaveEnds, zone *time.Location, recorded time.Time) waveRow {
	row := waveRow{
		N: x.N, Decided: exactOn(recorded, x.DecidedAt, zone), Fans: x.Size, From: x.FromPlace, To: x.ToPlace,
		Skipped: skippedWords(x.Skipped), Ends: endsOf(ends),
	}
	row.Shares = sharesOf(row.Ends)
	if x.Size > 0 {
		row.Opens, row.Closes = exactOn(recorded, x.OpensAt, zone), exactOn(recorded, x.ClosesAt, zone)
	}
	return row
}

// cancelForm asks whether to cancel an opening, and why.
func (a *Admin) cancelForm(w http.ResponseWriter, r *http.Request) error {
	return a.cancelPage(w, r, nil)
}

func (a *Admin) cancelPage(w http.ResponseWriter, r *http.Request, failed error) error {
	v := &view{Nav: "shows", Tab: "openings"}
	body, err := a.withOpening(r, v)
	if err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	v.Title, v.Body = "Cancel "+body.ID+" · "+v.Show.Name, body
	return a.render(w, r, "cancel", v)
}

func (a *Admin) cancel(w http.ResponseWriter, r *http.Request) error {
	ref := waitlist.OpeningRef{ShowID: param(r, "show"), OpeningID: param(r, "opening")}
	audit := waitlist.Audit{
		Act: waitlist.AuditCancelOpening, ShowID: ref.ShowID, OpeningID: ref.OpeningID, Reason: r.PostForm.Get("reason"),
	}
	err := a.acts.do(r.Context(), audit, func(ctx context.Context, line lineWriter, _ string) error {
		return line.CancelOpening(ctx, ref)
	})
	if err != nil {
		return a.cancelPage(w, r, err)
	}
	return done(w, r, link("shows", ref.ShowID, "openings", ref.OpeningID), "cancel")
}
