package waitlist

import (
	"context"
	"time"
)

// Store keeps the line. Each method is one step in one transaction, done whole or
// not at all; EraseFan and Wake are one a show. Methods answer an unknown show, opening, fan or claim with NotFound,
// and a cancelled show with Closed where it matters.
type Store interface {
	ShowStore
	EntryStore
	FanStore
	OpeningStore
	TurnStore
	TraceStore
	OrderStore
	ClaimStore
	DecisionStore
}

// Nudger makes a show be decided soon. Clock is one.
type Nudger interface {
	Nudge(showNo int32)
}

// Service is the line and its rules for the rest of the program. All its methods
// may be called concurrently.
type Service struct {
	store Store
	clock Nudger
	// changed makes known that something happened to fans who may be connected.
	changed func(fanNos ...int64)
	joins   *gatherer[string, Join, Joined]
	takes   *gatherer[OpeningRef, Take, Claimed]
}

// OpeningRef names an opening as callers do.
type OpeningRef struct{ ShowID, OpeningID string }

// Touched is whom a change was about.
type Touched struct {
	ShowNo int32
	FanNo  int64
}

// NewService returns a Service over store that nudges clock after every change
// that may let something be decided, and calls changed, which must not block,
// when something happened to a fan's turn. Call Close when no more calls come.
func NewService(store Store, clock Nudger, changed func(fanNos ...int64)) *Service {
	s := &Service{store: store, clock: clock, changed: changed}
	s.joins = newGatherer(func(ctx context.Context, show string, batch []Join) ([]Joined, error) {
		joined, showNo, err := store.Join(ctx, show, batch)
		return joined, s.nudge(showNo, err)
	})
	s.takes = newGatherer(func(ctx context.Context, ref OpeningRef, batch []Take) ([]Claimed, error) {
		claims, showNo, err := store.Claim(ctx, ref, batch)
		var won []int64
		for i := range claims {
			if claims[i].New {
				won = append(won, claims[i].Claim.FanNo)
			}
		}
		if err == nil && len(won) > 0 {
			s.changed(won...)
		}
		return claims, s.nudge(showNo, err)
	})
	s.joins.keyed = func(j Join) bool { return j.Once != nil }
	s.takes.keyed = func(t Take) bool { return t.Once != nil }
	return s
}

// Close waits for the gathered joins and claims in progress.
func (s *Service) Close() {
	s.joins.wait()
	s.takes.wait()
}

// nudge passes err on, after having the show decided if it went well.
func (s *Service) nudge(showNo int32, err error) error {
	if err == nil && showNo != 0 {
		s.clock.Nudge(showNo)
	}
	return err
}

// touch is nudge for a change about one fan.
func (s *Service) touch(t Touched, err error) error {
	if err == nil && t.FanNo != 0 {
		s.changed(t.FanNo)
	}
	return s.nudge(t.ShowNo, err)
}

// ShowStore keeps shows.
type ShowStore interface {
	// PutShow changes the show, or makes it; change was checked by check, which
	// is called again with the show as it would be.
	PutShow(ctx context.Context, id string, change ShowChange, check func(*Show) error) (show Show, created bool, err error)
	Show(ctx context.Context, id string) (Show, error)
	// Shows are those after the id, by id.
	Shows(ctx context.Context, after string, limit int) ([]Show, error)
	PauseShow(ctx context.Context, id string, staff, paused bool) (showNo int32, err error)
	// CancelShow cancels it and its openings. Again: no error.
	CancelShow(ctx context.Context, id string) (showNo int32, err error)
}

// PutShow makes or changes a show.
func (s *Service) PutShow(ctx context.Context, id string, c ShowChange) (Show, bool, error) {
	if err := CheckID("show", id); err != nil {
		return Show{}, false, err
	}
	show, created, err := s.store.PutShow(ctx, id, c, (*Show).Check)
	return show, created, s.nudge(show.No, err)
}

// Show returns a show with what is worked out on reading.
func (s *Service) Show(ctx context.Context, id string) (Show, error) { return s.store.Show(ctx, id) }

// Shows lists shows by id, those after the one given.
func (s *Service) Shows(ctx context.Context, after string, limit int) ([]Show, error) {
	return s.store.Shows(ctx, after, limit)
}

// Pause pauses or resumes a show for staff, beside the ticketing app's own pause.
func (s *Service) Pause(ctx context.Context, show string, paused bool) error {
	no, err := s.store.PauseShow(ctx, show, true, paused)
	return s.nudge(no, err)
}

// CancelShow cancels a show and each of its openings, with their notices.
func (s *Service) CancelShow(ctx context.Context, show string) error {
	no, err := s.store.CancelShow(ctx, show)
	return s.nudge(no, err)
}

// EntryStore keeps entries.
type EntryStore interface {
	// NameFans fills in the numbers of fans, making those who are new.
	NameFans(ctx context.Context, batch []Join) error
	// Join takes up to 1,000 joins in order, at most MaxKeyed of them with a key. It
	// answers each; Entry.Position is filled in for new ones alone.
	Join(ctx context.Context, show string, batch []Join) ([]Joined, int32, error)
	Entry(ctx context.Context, show, fan string) (Entry, error)
	Entries(ctx context.Context, show string, f EntryFilter) ([]Entry, error)
	// FanEntries are a fan's entries in line, by show.
	FanEntries(ctx context.Context, fan string) ([]FanEntry, error)
	ChangeEntry(ctx context.Context, show, fan string, c EntryChange) (Entry, int32, error)
	// Leave ends the entry as Left or Removed. Already gone or unknown: no error.
	Leave(ctx context.Context, show, fan string, as State, reason string) (Touched, error)
	// Wake ends the fan's dormancy, everywhere, and returns the shows it did so in.
	Wake(ctx context.Context, fan string) ([]int32, error)
}

// FanEntry is an entry with its show, as the fan sees it.
type FanEntry struct {
	ShowID string
	Entry
}

// Join puts a fan in a show's line, or returns the entry that stands there.
func (s *Service) Join(ctx context.Context, show string, j Join) (Entry, bool, error) {
	if err := CheckID("show", show); err != nil {
		return Entry{}, false, err
	}
	if err := j.Check(); err != nil {
		return Entry{}, false, err
	}
	j.Once = OnceOf(ctx)
	r, err := s.joins.do(ctx, show, j)
	if err != nil {
		return Entry{}, false, err
	}
	return r.Entry, r.New, r.Err
}

// NameFans fills in the numbers of the fans of joins that were checked, making those
// who are new. It may run ahead of JoinMany, which does it otherwise.
func (s *Service) NameFans(ctx context.Context, batch []Join) error {
	return s.store.NameFans(ctx, batch)
}

// JoinMany is Join for a list that one caller brings, such as an import: at most
// 1,000, in their order, in one transaction. Each is answered for itself.
func (s *Service) JoinMany(ctx context.Context, show string, batch []Join) ([]Joined, error) {
	out := make([]Joined, len(batch))
	var good []Join
	var at []int
	for i, j := range batch {
		if out[i].Err = j.Check(); out[i].Err == nil {
			good, at = append(good, j), append(at, i)
		}
	}
	if len(good) == 0 {
		return out, nil
	}
	joined, no, err := s.store.Join(ctx, show, good)
	for n := range joined {
		out[at[n]] = joined[n]
	}
	return out, s.nudge(no, err)
}

// Entry returns a fan's entry with its position.
func (s *Service) Entry(ctx context.Context, show, fan string) (Entry, error) {
	return s.store.Entry(ctx, show, fan)
}

// Entries returns a page of the line, in order.
func (s *Service) Entries(ctx context.Context, show string, f EntryFilter) ([]Entry, error) {
	return s.store.Entries(ctx, show, f)
}

// FanEntries returns a fan's places in line, with positions.
func (s *Service) FanEntries(ctx context.Context, fan string) ([]FanEntry, error) {
	return s.store.FanEntries(ctx, fan)
}

// ChangeEntry changes party, tier or place of an entry.
func (s *Service) ChangeEntry(ctx context.Context, show, fan string, c EntryChange) (Entry, error) {
	if err := c.Check(); err != nil {
		return Entry{}, err
	}
	e, no, err := s.store.ChangeEntry(ctx, show, fan, c)
	return e, s.nudge(no, err)
}

// Leave takes a fan out of a show's line. A live turn passes on, a hold is
// released. Leaving twice is no error.
func (s *Service) Leave(ctx context.Context, show, fan string) error {
	return s.touch(s.store.Leave(ctx, show, fan, Left, ""))
}

// Remove is Leave by staff, with a reason.
func (s *Service) Remove(ctx context.Context, show, fan, reason string) error {
	if err := CheckText("reason", reason, false, MaxReason); err != nil {
		return err
	}
	return s.touch(s.store.Leave(ctx, show, fan, Removed, reason))
}

// Wake notes that the fan acted (a new socket, an inbox read, an ack): dormant
// entries are awake again with nothing missed.
func (s *Service) Wake(ctx context.Context, fan string) error {
	nos, err := s.store.Wake(ctx, fan)
	for _, no := range nos {
		s.clock.Nudge(no)
	}
	return err
}

// OpeningStore keeps openings.
type OpeningStore interface {
	// Record stores the opening and its event, or returns the one that stands
	// when it is the same, else Conflict.
	Record(ctx context.Context, show string, o NewOpening) (opening Opening, created bool, err error)
	Opening(ctx context.Context, ref OpeningRef) (Opening, error)
	// Openings are newest first, those before the number (0: from the newest).
	Openings(ctx context.Context, show string, before int64, limit int) ([]Opening, error)
	// WaveReports are newest first, those before wave number n (0: from the newest).
	WaveReports(ctx context.Context, ref OpeningRef, before, limit int) ([]WaveReport, error)
	// NewestWaves are the newest of openings of one show, the newest decision first.
	NewestWaves(ctx context.Context, openings []Opening, limit int) ([]WaveReport, error)
	CancelOpening(ctx context.Context, ref OpeningRef) (showNo int32, err error)
	GiveTurn(ctx context.Context, ref OpeningRef, fan, reason string) (showNo int32, err error)
}

// WaveReport is a wave as staff read it.
type WaveReport struct {
	Wave
	FromPlace, ToPlace int64
	ClosesAt           time.Time
	// Skipped counts, among the first 10,000 walked past, those not taken.
	Skipped map[Reason]int
}

// Record records freed seats.
func (s *Service) Record(ctx context.Context, show string, o NewOpening) (Opening, bool, error) {
	if err := CheckID("show", show); err != nil {
		return Opening{}, false, err
	}
	if err := o.Check(); err != nil {
		return Opening{}, false, err
	}
	if err := o.Policy.Over(DefaultPolicy()).Check(); err != nil {
		return Opening{}, false, err
	}
	opening, created, err := s.store.Record(ctx, show, o)
	return opening, created, s.nudge(opening.ShowNo, err)
}

// Opening returns an opening.
func (s *Service) Opening(ctx context.Context, ref OpeningRef) (Opening, error) {
	return s.store.Opening(ctx, ref)
}

// Openings lists a show's openings, newest first.
func (s *Service) Openings(ctx context.Context, show string, before int64, limit int) ([]Opening, error) {
	return s.store.Openings(ctx, show, before, limit)
}

// WaveReports lists an opening's waves, newest first, with whom they skipped.
func (s *Service) WaveReports(ctx context.Context, ref OpeningRef, before, limit int) ([]WaveReport, error) {
	return s.store.WaveReports(ctx, ref, before, limit)
}

// NewestWaves lists the newest waves of openings of one show, all together, the
// newest decision first.
func (s *Service) NewestWaves(ctx context.Context, openings []Opening, limit int) ([]WaveReport, error) {
	return s.store.NewestWaves(ctx, openings, limit)
}

// CancelOpening cancels an opening: its turns end with a notice, holds stand.
func (s *Service) CancelOpening(ctx context.Context, ref OpeningRef) error {
	no, err := s.store.CancelOpening(ctx, ref)
	return s.nudge(no, err)
}

// GiveTurn gives one entry the next turn of an open opening.
func (s *Service) GiveTurn(ctx context.Context, ref OpeningRef, fan, reason string) error {
	if err := CheckText("reason", reason, true, MaxReason); err != nil {
		return err
	}
	no, err := s.store.GiveTurn(ctx, ref, fan, reason)
	return s.nudge(no, err)
}

// TurnStore answers for turns.
type TurnStore interface {
	// Facts reads what a verdict is worked out from.
	Facts(ctx context.Context, ref OpeningRef, fan string) (Facts, error)
	Decline(ctx context.Context, ref OpeningRef, fan string) (Touched, error)
}

// Verdict says where a fan stands with an opening, and why.
func (s *Service) Verdict(ctx context.Context, ref OpeningRef, fan string) (Verdict, error) {
	f, err := s.store.Facts(ctx, ref, fan)
	if err != nil {
		return Verdict{}, err
	}
	v, err := Judge(f)
	v.FanID = fan
	return v, err
}

// Decline ends a fan's open turn; the seat passes on at once. Declining twice is
// no error.
func (s *Service) Decline(ctx context.Context, ref OpeningRef, fan string) error {
	return s.touch(s.store.Decline(ctx, ref, fan))
}

// ClaimStore keeps claims.
type ClaimStore interface {
	// Claim serves up to 1,000 claims on one opening, in order, at most MaxKeyed of
	// them with a key, and answers each.
	Claim(ctx context.Context, ref OpeningRef, batch []Take) ([]Claimed, int32, error)
	ClaimByID(ctx context.Context, id string) (Claim, error)
	Confirm(ctx context.Context, id string) (Claim, error)
	Release(ctx context.Context, id, reason string) (Claim, error)
	Extend(ctx context.Context, id string, by time.Duration) (Claim, error)
}

// Claim uses a fan's turn: the party's seats are held, all or none. The same fan
// again gets the same claim.
func (s *Service) Claim(ctx context.Context, ref OpeningRef, fan string) (Claim, bool, error) {
	if err := CheckFanID("fan_id", fan); err != nil {
		return Claim{}, false, err
	}
	r, err := s.takes.do(ctx, ref, Take{FanID: fan, Once: OnceOf(ctx)})
	if err != nil {
		return Claim{}, false, err
	}
	return r.Claim, r.New, r.Err
}

// ClaimByID returns a claim; one past its expiry reads lapsed.
func (s *Service) ClaimByID(ctx context.Context, id string) (Claim, error) {
	return s.store.ClaimByID(ctx, id)
}

// Confirm makes a hold a purchase. Again: the same claim.
func (s *Service) Confirm(ctx context.Context, id string) (Claim, error) {
	c, err := s.store.Confirm(ctx, id)
	return c, s.touch(Touched{c.ShowNo, c.FanNo}, err)
}

// Release gives a hold's seats back. Again: the same claim.
func (s *Service) Release(ctx context.Context, id, reason string) (Claim, error) {
	if err := CheckText("reason", reason, false, MaxReason); err != nil {
		return Claim{}, err
	}
	c, err := s.store.Release(ctx, id, reason)
	return c, s.touch(Touched{c.ShowNo, c.FanNo}, err)
}

// Extend lets a hold last longer, at most twice the opening's hold in all.
func (s *Service) Extend(ctx context.Context, id string, by time.Duration) (Claim, error) {
	if by < time.Second || by > 24*time.Hour {
		return Claim{}, Wrong("by_s", "by_s must be 1 to 86400")
	}
	c, err := s.store.Extend(ctx, id, by)
	return c, s.nudge(c.ShowNo, err)
}
