package web

import (
	"context"
	"fmt"
	"net/http"

	"fanline/notifier"
	"fanline/waitlist"
)

// newestWaves is how many waves an opening is shown with.
const newestWaves = 100

// OpeningPath names an opening.
type OpeningPath struct {
	Show    string `path:"show" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" patternDescription:"1 to 64 of A-Z a-z 0-9 . _ -, a letter or digit first" example:"tuesday-42"`
	Opening string `path:"opening" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" patternDescription:"1 to 64 of A-Z a-z 0-9 . _ -, a letter or digit first" example:"freed-7"`
}

func (p *OpeningPath) ref() waitlist.OpeningRef {
	return waitlist.OpeningRef{ShowID: p.Show, OpeningID: p.Opening}
}

// Opening is one report of freed seats.
type Opening struct {
	ID         string                `json:"id" example:"freed-7"`
	ShowID     string                `json:"show_id" example:"tuesday-42"`
	State      waitlist.OpeningState `json:"state" enum:"open,filled,exhausted,cancelled"`
	Strategy   waitlist.Strategy     `json:"strategy" enum:"write,read"`
	Mode       waitlist.Mode         `json:"mode" enum:"turns,everyone"`
	Tier       string                `json:"tier" doc:"Empty: to any entry."`
	Reason     string                `json:"reason" enum:"card_declined,hold_timeout,returned,new_inventory"`
	Adjacent   bool                  `json:"adjacent"`
	Quantity   int                   `json:"quantity"`
	SeatsLeft  int                   `json:"seats_left" doc:"Not confirmed."`
	SeatsFree  int                   `json:"seats_free"`
	SeatsHeld  int                   `json:"seats_held"`
	Told       int64                 `json:"told" doc:"Turns that opened."`
	RecordedAt notifier.Stamp        `json:"recorded_at"`
	FinalAt    *notifier.Stamp       `json:"final_at" nullable:"true" doc:"When it was filled, exhausted or cancelled."`
	Waves      []Wave                `json:"waves" nullable:"false" doc:"The newest 100, newest first; in a list, the newest 100 of the page's openings together."`
}

// Wave is one decision of an opening.
type Wave struct {
	Number    int                     `json:"number" doc:"From 1, within the opening."`
	Fans      int                     `json:"fans" doc:"How many got a turn."`
	FromPlace int64                   `json:"from_place"`
	ToPlace   int64                   `json:"to_place"`
	OpensAt   notifier.Stamp          `json:"opens_at" doc:"When its first turn opens."`
	ClosesAt  notifier.Stamp          `json:"closes_at" doc:"When its last turn closes."`
	Skipped   map[waitlist.Reason]int `json:"skipped" doc:"How many of the first 10,000 walked past were not taken, by reason."`
}

// OpeningRequest reports freed seats.
type OpeningRequest struct {
	Quantity *int               `json:"quantity,omitempty" nullable:"true" minimum:"1" maximum:"100000" example:"2" doc:"This or seats."`
	Seats    []string           `json:"seats,omitempty" nullable:"true" maxItems:"100000" example:"A-1,A-2" doc:"Labels of 1 to 64 characters, each once."`
	Tier     string             `json:"tier,omitempty" maxLength:"64" doc:"Empty: to any entry."`
	Reason   string             `json:"reason" enum:"card_declined,hold_timeout,returned,new_inventory"`
	Adjacent bool               `json:"adjacent,omitempty" doc:"The list's order is the row's order, and a party gets consecutive labels or is skipped."`
	Policy   OpeningPolicyPatch `json:"policy,omitempty" doc:"Frozen with the opening."`
}

// OpeningPolicyPatch documents waitlist.OpeningPolicy.
type OpeningPolicyPatch struct {
	Mode         *waitlist.Mode     `json:"mode,omitempty" nullable:"true" enum:"turns,everyone"`
	FansPerSeat  *waitlist.Milli    `json:"fans_per_seat,omitempty" nullable:"true" minimum:"1" maximum:"100"`
	ClaimWindowS *int               `json:"claim_window_s,omitempty" nullable:"true" minimum:"1" maximum:"604800"`
	HoldS        *int               `json:"hold_s,omitempty" nullable:"true" minimum:"1" maximum:"86400"`
	Strategy     *waitlist.Strategy `json:"strategy,omitempty" nullable:"true" enum:"auto,write,read"`
}

func (r *OpeningRequest) opening(id string) (waitlist.NewOpening, error) {
	o := waitlist.NewOpening{
		ID: id, Seats: r.Seats, Tier: r.Tier, Reason: r.Reason, Adjacent: r.Adjacent,
		Policy: waitlist.OpeningPolicy(r.Policy),
	}
	if r.Quantity == nil {
		return o, nil
	}
	o.Quantity = *r.Quantity
	if o.Quantity == 0 { // to the rules this is an opening that names its seats
		return o, waitlist.Wrong("quantity", "quantity must be 1 to %d", waitlist.MaxQuantity)
	}
	return o, nil
}

func (s *Server) openingCalls() {
	call(s, creating(doc("Openings", "PUT", "/v1/shows/{show}/openings/{opening}", "put-opening", "Record freed seats", 400, 404, 409, 410, 413, 415)), s.putOpening)
	call(s, doc("Openings", "GET", "/v1/shows/{show}/openings", "list-openings", "Openings, newest first", 404), s.listOpenings)
	call(s, doc("Openings", "GET", "/v1/shows/{show}/openings/{opening}", "get-opening", "An opening with its newest waves", 404), s.getOpening)
	call(s, doc("Openings", "GET", "/v1/shows/{show}/openings/{opening}/waves", "list-waves", "All waves, newest first", 404), s.listWaves)
	call(s, doc("Openings", "DELETE", "/v1/shows/{show}/openings/{opening}", "cancel-opening", "Cancel: live turns end with a notice, holds stand", 404, 409), s.cancelOpening)
}

type putOpening struct {
	OpeningPath
	Sent[OpeningRequest, OpeningRequest]
}

func (s *Server) putOpening(ctx context.Context, in *putOpening) (*Answer[Opening], error) {
	o, created, err := s.record(ctx, in.Show, in.Opening, &in.Body.value)
	if err != nil {
		return nil, err
	}
	return made(created, o)
}

// record records an opening, or returns what became of it.
func (s *Server) record(ctx context.Context, show, id string, r *OpeningRequest) (Opening, bool, error) {
	o, err := r.opening(id)
	if err != nil {
		return Opening{}, false, err
	}
	opening, created, err := s.cfg.Lines.Record(ctx, show, o)
	if err != nil {
		return Opening{}, false, err
	}
	if created {
		return openingView(&opening, nil), true, nil
	}
	full, err := s.openingNow(ctx, waitlist.OpeningRef{ShowID: show, OpeningID: id})
	return full, false, err
}

// openingNow reads an opening with its newest waves.
func (s *Server) openingNow(ctx context.Context, ref waitlist.OpeningRef) (Opening, error) {
	o, err := s.cfg.Lines.Opening(ctx, ref)
	if err != nil {
		return Opening{}, err
	}
	waves, err := s.wavesOf(ctx, ref, &o)
	return openingView(&o, waves), err
}

func (s *Server) wavesOf(ctx context.Context, ref waitlist.OpeningRef, o *waitlist.Opening) ([]waitlist.WaveReport, error) {
	if o.Waves == 0 {
		return nil, nil
	}
	return s.cfg.Lines.WaveReports(ctx, ref, 0, newestWaves)
}

type listOpenings struct {
	ShowPath
	PageQuery
}

func (s *Server) listOpenings(ctx context.Context, in *listOpenings) (*Answer[List[Opening]], error) {
	of := "openings:" + in.Show
	at, _, err := parseCursor(in.Cursor, of)
	if err != nil {
		return nil, err
	}
	openings, err := s.cfg.Lines.Openings(ctx, in.Show, at.No, in.Limit+1)
	if err != nil {
		return nil, err
	}
	// The newest waves of the page, and not of each opening: a page of openings
	// costs about what one opening does.
	waves, err := s.cfg.Lines.NewestWaves(ctx, openings[:min(len(openings), in.Limit)], newestWaves)
	if err != nil {
		return nil, err
	}
	byOpening := map[int64][]waitlist.WaveReport{}
	for _, w := range waves {
		byOpening[w.OpeningNo] = append(byOpening[w.OpeningNo], w)
	}
	return answer(http.StatusOK, page(openings, in.Limit, func(o *waitlist.Opening) Opening {
		return openingView(o, byOpening[o.No])
	}, func(o *waitlist.Opening) cursor { return cursor{Of: of, No: o.No} }))
}

func (s *Server) getOpening(ctx context.Context, in *OpeningPath) (*Answer[Opening], error) {
	o, err := s.openingNow(ctx, in.ref())
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, o)
}

type listWaves struct {
	OpeningPath
	PageQuery
}

func (s *Server) listWaves(ctx context.Context, in *listWaves) (*Answer[List[Wave]], error) {
	of := fmt.Sprintf("waves:%s:%s", in.Show, in.Opening)
	at, _, err := parseCursor(in.Cursor, of)
	if err != nil {
		return nil, err
	}
	waves, err := s.cfg.Lines.WaveReports(ctx, in.ref(), int(at.No), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, page(waves, in.Limit, waveView, func(w *waitlist.WaveReport) cursor {
		return cursor{Of: of, No: int64(w.N)}
	}))
}

func (s *Server) cancelOpening(ctx context.Context, in *OpeningPath) (*Nothing, error) {
	return nil, s.cfg.Lines.CancelOpening(ctx, in.ref())
}

func openingView(o *waitlist.Opening, waves []waitlist.WaveReport) Opening {
	v := Opening{
		ID: o.ID, ShowID: o.ShowID, State: o.State, Strategy: o.Strategy, Mode: o.Mode, Tier: o.Tier, Reason: o.Reason,
		Adjacent: o.Adjacent, Quantity: o.Quantity, SeatsLeft: o.SeatsLeft(), SeatsFree: o.Free, SeatsHeld: o.Held,
		Told: o.Told, RecordedAt: notifier.Stamp(o.RecordedAt), FinalAt: notifier.StampOf(o.FinalAt), Waves: []Wave{},
	}
	for i := range waves {
		v.Waves = append(v.Waves, waveView(&waves[i]))
	}
	return v
}

func waveView(w *waitlist.WaveReport) Wave {
	v := Wave{
		Number: w.N, Fans: w.Size, FromPlace: w.FromPlace, ToPlace: w.ToPlace,
		OpensAt: notifier.Stamp(w.OpensAt), ClosesAt: notifier.Stamp(w.ClosesAt), Skipped: w.Skipped,
	}
	if v.Skipped == nil {
		v.Skipped = map[waitlist.Reason]int{}
	}
	return v
}
