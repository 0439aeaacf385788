package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// fanStore is what is known of fans beside their places.
type fanStore interface {
	// FindFan is 0 for one who is not known.
	FindFan(ctx context.Context, fan string) (int64, error)
	FanPlaces(ctx context.Context, fan string, limit int) ([]waitlist.FanPlace, error)
	Profile(ctx context.Context, fan string) (delivery.Profile, error)
	Devices(ctx context.Context, fan string) ([]delivery.Device, error)
	Items(ctx context.Context, fan string, q notifier.InboxQuery) (items []notifier.Item, unread int, err error)
	DeliveriesTo(ctx context.Context, fanNo int64, limit int) ([]notifier.Delivery, error)
}

// What a fan's page shows.
const (
	personPlaces     = 50
	personItems      = 15
	personDeliveries = 30
	personShows      = 3 // of which the openings are explained
	personWhys       = 5 // openings of each
)

type personPage struct {
	FanID      string
	Places     []placeRow
	Whys       []placeWhys
	Items      []itemRow
	Unread     int
	Email      string // masked
	Phone      string
	Profile    []factRow
	Devices    []deviceRow
	Deliveries []deliveryRow
	Zone       string
	Audits     []auditRow
}

type placeRow struct {
	waitlist.FanPlace
	Starts string
}

// placeWhys are the newest openings of a show, explained.
type placeWhys struct {
	ShowID, ShowName, Zone string
	Openings               []whyRow
}

type itemRow struct {
	notifier.Item
	Words, At, Read string
}

type factRow struct{ Name, Text string }

type deviceRow struct {
	delivery.Device
	Name, Masked, At string
}

type deliveryRow struct {
	notifier.Delivery
	Name, Shows string
	Steps       []phaseStep
}

type phaseStep struct{ At, Word, Reason string }

// findFan goes to the page of the fan that was asked for.
func (a *Admin) findFan(w http.ResponseWriter, r *http.Request) error {
	fan := strings.TrimSpace(r.URL.Query().Get("fan"))
	if waitlist.CheckFanID("fan", fan) != nil {
		return a.noFan(w, r, fan)
	}
	http.Redirect(w, r, link("fans", fan), http.StatusSeeOther)
	return nil
}

// noFan asks again. Without an id that is all; of one that is unknown it says so.
func (a *Admin) noFan(w http.ResponseWriter, r *http.Request, fan string) error {
	v := &view{Title: "Find a fan", Nav: "fans", Body: fan}
	if fan != "" {
		v.Status, v.Error = http.StatusNotFound, "No fan has this id. Ids are the ticketing app’s own, letter for letter."
	}
	return a.render(w, r, "findfan", v)
}

// person is all that is known of a fan, over all shows.
func (a *Admin) person(w http.ResponseWriter, r *http.Request) error {
	fan := param(r, "fan")
	if waitlist.CheckFanID("fan", fan) != nil {
		return a.noFan(w, r, "?")
	}
	no, err := a.records.FindFan(r.Context(), fan)
	if err != nil {
		return err
	}
	if no == 0 {
		return a.noFan(w, r, fan)
	}
	body := &personPage{FanID: fan, Zone: "UTC"}
	fill := []func(context.Context, *personPage) error{a.fillPlaces, a.fillProfile, a.fillDevices, a.fillItems, a.fillStaffActs}
	for _, f := range fill {
		if err := f(r.Context(), body); err != nil {
			return err
		}
	}
	if err := a.fillDeliveries(r.Context(), body, no); err != nil {
		return err
	}
	return a.render(w, r, "person", &view{Title: fan, Nav: "fans", Body: body})
}

// fillPlaces lists the places and explains the newest openings of the first shows,
// whose zone times are then given in.
func (a *Admin) fillPlaces(ctx context.Context, p *personPage) error {
	places, err := a.records.FanPlaces(ctx, p.FanID, personPlaces)
	if err != nil {
		return err
	}
	for _, x := range places {
		p.Places = append(p.Places, placeRow{x, day(x.StartsAt, zoneOf(x.TimeZone))})
	}
	if len(places) > 0 {
		p.Zone = zoneOf(places[0].TimeZone).String()
	}
	for _, x := range places[:min(len(places), personShows)] {
		show, err := a.readShow(ctx, x.ShowID)
		if err != nil {
			return err
		}
		rows, _, err := a.openingRows(ctx, &show, 0, personWhys)
		if err != nil {
			return err
		}
		whys, err := a.whys(ctx, &show, x.Entry, rows, 0, false)
		if err != nil {
			return err
		}
		p.Whys = append(p.Whys, placeWhys{show.ID, show.Name, zoneOf(show.TimeZone).String(), whys})
	}
	return nil
}

func (p *personPage) zone() *time.Location { return zoneOf(p.Zone) }

func (a *Admin) fillProfile(ctx context.Context, p *personPage) error {
	f, err := a.records.Profile(ctx, p.FanID)
	if err != nil {
		return err
	}
	if f.Email != "" {
		p.Email = delivery.Mask(notifier.Email, f.Email)
	}
	if f.Phone != "" {
		p.Phone = delivery.Mask(notifier.SMS, f.Phone)
	}
	p.Profile = profileFacts(&f)
	return nil
}

// profileFacts are a fan's preferences in words.
func profileFacts(f *delivery.Profile) []factRow {
	facts := []factRow{
		{"language", orWord(f.Locale, "not said, so English")},
		{"time zone", orWord(f.TimeZone, "not said, so the show’s")},
	}
	for _, k := range notifier.PreferenceKinds {
		words := strings.Join(f.Words(k), ", ")
		if _, chosen := f.Channels[k]; !chosen {
			words += " (by default)"
		}
		facts = append(facts, factRow{string(k) + "s by", orWord(words, "no channel")})
	}
	quiet := "none"
	if f.Quiet != nil {
		quiet = minuteOfDay(f.Quiet.From) + " to " + minuteOfDay(f.Quiet.To)
		if f.TurnAtNight {
			quiet += ", but turns may come"
		}
	}
	facts = append(facts, factRow{"quiet hours", quiet})
	if f.DigestHour != nil {
		facts = append(facts, factRow{"digest", "daily at " + minuteOfDay(*f.DigestHour*60)})
	}
	for _, c := range notifier.Channels {
		if kinds := f.OptedOut[c]; len(kinds) > 0 {
			facts = append(facts, factRow{"opted out of " + channelNames[c], optOutWords(kinds)})
		}
	}
	return facts
}

func orWord(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

// optOutWords are the kinds that an address wants nothing of; the kind "" is all.
func optOutWords(kinds []notifier.Kind) string {
	if slices.Contains(kinds, "") {
		return "everything"
	}
	var words []string
	for _, k := range kinds {
		words = append(words, string(k)+"s")
	}
	return strings.Join(words, ", ")
}

func minuteOfDay(m int) string {
	return time.Date(2000, 1, 1, 0, m, 0, 0, time.UTC).Format("15:04")
}

func (a *Admin) fillDevices(ctx context.Context, p *personPage) error {
	devices, err := a.records.Devices(ctx, p.FanID)
	for _, d := range devices {
		p.Devices = append(p.Devices, deviceRow{d, channelNames[d.Platform], delivery.Mask(d.Platform, d.Token), clock(d.RegisteredAt, p.zone())})
	}
	return err
}

// fillItems lists what the fan can pick up, without the texts of messages, which are
// between the ticketing app and the fan.
func (a *Admin) fillItems(ctx context.Context, p *personPage) error {
	items, unread, err := a.records.Items(ctx, p.FanID, notifier.InboxQuery{Limit: personItems})
	p.Unread = unread
	for _, i := range items {
		row := itemRow{Item: i, Words: itemWords(&i), At: clock(time.Time(i.CreatedAt), p.zone()), Read: "unread"}
		if i.ReadAt != nil {
			row.Read = "read " + clock(time.Time(*i.ReadAt), p.zone())
		}
		p.Items = append(p.Items, row)
	}
	return err
}

func itemWords(i *notifier.Item) string {
	switch i.Kind {
	case notifier.KindMessage:
		return "message, " + strings.ReplaceAll(i.Type, "_", " ")
	case notifier.KindAnnouncement:
		return "announcement: " + i.Title
	}
	return string(i.Kind) + ", " + string(i.State)
}

// phaseShows are the states whose colours phases have.
var phaseShows = map[notifier.Phase]string{
	notifier.PhaseSent: "open", notifier.PhaseDelivered: "bought", notifier.PhaseOpened: "bought",
	notifier.PhaseFailed: "missed", notifier.PhaseBounced: "missed", notifier.PhaseSkipped: "skipped",
	notifier.PhaseDeduplicated: "skipped", notifier.PhaseThrottled: "upcoming", notifier.PhaseQueued: "upcoming",
	notifier.PhaseAccepted: "upcoming",
}

func (a *Admin) fillDeliveries(ctx context.Context, p *personPage, no int64) error {
	list, err := a.records.DeliveriesTo(ctx, no, personDeliveries)
	for _, d := range list {
		row := deliveryRow{Delivery: d, Name: channelNames[d.Channel], Shows: phaseShows[d.Phase]}
		for _, s := range d.Phases {
			row.Steps = append(row.Steps, phaseStep{exact(time.Time(s.At), p.zone()), string(s.Phase), strings.ReplaceAll(s.Reason, "_", " ")})
		}
		p.Deliveries = append(p.Deliveries, row)
	}
	return err
}

func (a *Admin) fillStaffActs(ctx context.Context, p *personPage) error {
	audits, err := a.records.Audits(ctx, waitlist.AuditFilter{FanID: p.FanID, Limit: 5})
	p.Audits = auditRows(audits)
	return err
}
