package admin

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"fanline/waitlist"
)

const (
	fanOpenings = 10 // explained on a page
	fanChanges  = 50
	fanChoices  = 50 // open openings to give a turn of
)

type fanPage struct {
	waitlist.Entry
	Joined   string
	InLine   bool
	Changes  []changeRow
	Openings []whyRow
	First    bool
	Next     string
	Open     []openingRow
	Audits   []auditRow
	// Restorable: the entry may have an earlier place.
	Restorable bool
	sameParty  bool // party and tier never changed

	// As typed, after a refusal.
	Act, Reason, Chosen string
}

type changeRow struct {
	At, What, Reason string
	Place            string // from, to; "" where it stayed
}

type whyRow struct {
	openingRow
	answer
}

func (a *Admin) fan(w http.ResponseWriter, r *http.Request) error { return a.fanPage(w, r, nil) }

// fanPage shows a fan at a show, with what went wrong with an act on them.
func (a *Admin) fanPage(w http.ResponseWriter, r *http.Request, failed error) error {
	v := &view{Nav: "shows", Tab: "line"}
	if err := a.withShow(r, v); err != nil {
		return err
	}
	if err := v.failed(failed); err != nil {
		return err
	}
	e, err := a.readEntry(r.Context(), v.Show.ID, param(r, "fan"))
	if err != nil {
		return err
	}
	body := &fanPage{Entry: e, Joined: clock(e.JoinedAt, v.Zone()), InLine: e.State.InLine()}
	if v.Error != "" {
		body.Act, body.Reason, body.Chosen = param(r, "act"), r.PostForm.Get("reason"), r.PostForm.Get("opening")
	}
	for _, fill := range []func(*http.Request, *view, *fanPage) error{a.fillChanges, a.fillWhy, a.fillOpen, a.fillAudits} {
		if err := fill(r, v, body); err != nil {
			return err
		}
	}
	v.Title, v.Body = e.FanID+" · "+v.Show.Name, body
	return a.render(w, r, "fan", v)
}

func (a *Admin) readEntry(ctx context.Context, show, fan string) (waitlist.Entry, error) {
	if waitlist.CheckFanID("fan", fan) != nil {
		return waitlist.Entry{}, waitlist.Refuse(waitlist.NotFound, "There is no such fan.")
	}
	return a.line.Entry(ctx, show, fan)
}

// fillChanges lists what happened to the entry. The log says what it was before
// each change, so that what it became stands in the one after.
func (a *Admin) fillChanges(r *http.Request, v *view, body *fanPage) error {
	changes, err := a.records.Changes(r.Context(), &body.Entry, fanChanges)
	if err != nil {
		return err
	}
	became := body.Place
	body.sameParty = len(changes) < fanChanges
	for _, c := range changes {
		if c.Before.Party != body.Party || c.Before.Tier != body.Tier {
			body.sameParty = false
		}
		if c.What == "moved" || c.What == "rejoined" {
			body.Restorable = true
		}
		row := changeRow{At: exact(c.At, v.Zone()), What: changeWords(c), Reason: c.Reason}
		if c.Before.Place != became {
			row.Place = count(c.Before.Place) + " → " + count(became)
		}
		became = c.Before.Place
		body.Changes = append(body.Changes, row)
	}
	return nil
}

// fillWhy answers for the show's openings, newest first.
func (a *Admin) fillWhy(r *http.Request, v *view, body *fanPage) error {
	before := number(r, "before")
	body.First = before == 0
	rows, more, err := a.openingRows(r.Context(), v.Show, before, fanOpenings)
	if err != nil {
		return err
	}
	if body.Openings, err = a.whys(r.Context(), v.Show, body.Entry, rows, before, body.sameParty); err != nil {
		return err
	}
	if more {
		body.Next = link("shows", v.Show.ID, "fans", body.FanID) + "?before=" + strconv.FormatInt(rows[len(rows)-1].No, 10)
	}
	return nil
}

// whys answers for a page of openings, newest first, as of one moment. sameParty says
// that party and tier were never changed.
func (a *Admin) whys(ctx context.Context, show *waitlist.Show, e waitlist.Entry, rows []openingRow, before int64, sameParty bool) ([]whyRow, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	// One that was recorded since the rows were read pushes the oldest out.
	trace, err := a.line.Trace(ctx, show.ID, e.FanID, before, len(rows)+1)
	if err != nil {
		return nil, err
	}
	verdicts := make(map[int64]waitlist.Verdict, len(trace.Items))
	for _, t := range trace.Items {
		verdicts[t.OpeningNo] = t.Verdict
	}
	var whys []whyRow
	for _, o := range rows {
		if v, ok := verdicts[o.No]; ok {
			whys = append(whys, whyRow{o, explain(asked{
				verdict: v, opening: o.Opening, entry: e, show: show, zone: zoneOf(show.TimeZone), sameParty: sameParty,
			})})
		}
	}
	return whys, nil
}

// fillOpen lists the openings of which a turn can be given.
func (a *Admin) fillOpen(r *http.Request, v *view, body *fanPage) error {
	if body.State != waitlist.Waiting {
		return nil
	}
	open, err := a.records.OpenOpenings(r.Context(), v.Show.No, fanChoices)
	for _, o := range open {
		body.Open = append(body.Open, rowOf(o, v.Zone()))
	}
	return err
}

func (a *Admin) fillAudits(r *http.Request, v *view, body *fanPage) error {
	audits, err := a.records.Audits(r.Context(), waitlist.AuditFilter{ShowID: v.Show.ID, FanID: body.FanID, Limit: 5})
	body.Audits = auditRows(audits)
	return err
}

// fanActs are the acts on a fan, by their word in the path.
var fanActs = map[string]struct {
	audit waitlist.AuditAct
	note  string
}{
	"front":   {waitlist.AuditMoveFront, "front"},
	"restore": {waitlist.AuditRestore, "restored"},
	"remove":  {waitlist.AuditRemove, "removed"},
	"turn":    {waitlist.AuditGiveTurn, "given"},
}

func (a *Admin) actOnFan(w http.ResponseWriter, r *http.Request) error {
	show, fan := param(r, "show"), param(r, "fan")
	x := &picked{Act: param(r, "act"), Reason: r.PostForm.Get("reason"), Opening: r.PostForm.Get("opening")}
	x.FanID = fan
	note, err := a.actFor(r, show, x)
	if err != nil {
		return a.fanPage(w, r, err)
	}
	return done(w, r, link("shows", show, "fans", fan), note)
}

// actFor does one act for a fan and returns the notice of it.
func (a *Admin) actFor(r *http.Request, show string, x *picked) (note string, err error) {
	act, ok := fanActs[x.Act]
	if !ok {
		return "", waitlist.Refuse(waitlist.NotFound, "There is no such page.")
	}
	e, err := a.readEntry(r.Context(), show, x.FanID)
	if err != nil {
		return "", err
	}
	if !e.State.InLine() {
		return "", waitlist.Refuse(waitlist.Conflict, "This fan is not in line any more (%s).", stateWords(e))
	}
	audit := waitlist.Audit{Act: act.audit, ShowID: show, FanID: x.FanID, Reason: x.Reason}
	if act.audit == waitlist.AuditGiveTurn {
		audit.OpeningID = x.Opening
	}
	return act.note, a.acts.do(r.Context(), audit, func(ctx context.Context, line lineWriter, reason string) error {
		return actOn(ctx, line, audit, reason)
	})
}

// actOn makes the change that an audit names.
func actOn(ctx context.Context, line lineWriter, x waitlist.Audit, reason string) error {
	switch x.Act {
	case waitlist.AuditMoveFront, waitlist.AuditRestore:
		move := waitlist.MoveFront
		if x.Act == waitlist.AuditRestore {
			move = waitlist.MoveRestore
		}
		_, err := line.ChangeEntry(ctx, x.ShowID, x.FanID, waitlist.EntryChange{Move: move, Reason: reason})
		return err
	case waitlist.AuditRemove:
		return line.Remove(ctx, x.ShowID, x.FanID, reason)
	default:
		if waitlist.CheckID("opening", x.OpeningID) != nil {
			return waitlist.Wrong("opening", "Choose the opening of which the next turn is given.")
		}
		return line.GiveTurn(ctx, waitlist.OpeningRef{ShowID: x.ShowID, OpeningID: x.OpeningID}, x.FanID, reason)
	}
}

type auditRow struct {
	waitlist.Audit
	When, Zone, Words string
}

func auditRows(audits []waitlist.Audit) []auditRow {
	rows := make([]auditRow, len(audits))
	for i, x := range audits {
		zone := time.UTC
		if x.TimeZone != "" {
			zone = zoneOf(x.TimeZone)
		}
		rows[i] = auditRow{x, clock(x.At, zone), zone.String(), actWords(x.Act)}
	}
	return rows
}
