package admin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"fanline/delivery"
	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/ratelimit"
	"fanline/waitlist"
)

// staged is a world with two shows in the middle of what they do: a club's line of
// a few and a stadium's of thousands.
func staged(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, func(c *Config) { c.Engine = stagedEngine{} })
	w.show("locksmith-tue", "Tuesday night", "The Locksmith")
	w.show("marlow-vance", "Marlow Vance, the reunion", "Harbour Stadium")
	w.stageClub()
	w.stageStadium()
	w.stagePerson()
	w.stageLanes()
	b := w.staff("kim")
	b.post("/admin/shows/locksmith-tue/fans/fan-31/front", because("bought a ticket that was then sold twice"))
	b.post("/admin/shows/locksmith-tue/fans/fan-12/remove", because("asked by phone to be taken off"))
	w.staff("lee").post("/admin/shows/locksmith-tue/openings/B-07/cancel", because("the ticketing app reported it by mistake"))
	b.post("/admin/shows/marlow-vance/fans/fan-00250/turn", url.Values{"reason": {"wheelchair space"}, "opening": {"late-returns"}})
	return w
}

// stagedEngine has a provider in each state.
type stagedEngine struct{}

func (stagedEngine) Providers(context.Context) []Provider {
	limit := func(used, force, configured int) delivery.LimitState {
		return delivery.LimitState{
			Configured: ratelimit.PerSecond(configured), InForce: ratelimit.PerSecond(force), Used: used, Limited: true,
		}
	}
	closed := delivery.BreakerState{State: "closed"}
	return []Provider{
		{Channel: notifier.APNs, On: true, Limit: limit(412, 1000, 1000), Breaker: closed},
		{Channel: notifier.FCM, On: true, Limit: limit(2300, 2500, 10_000), Breaker: closed},
		{Channel: notifier.WebPush, On: true, Limit: limit(0, 500, 500), Breaker: delivery.BreakerState{State: "open"}},
		{Channel: notifier.SMS, On: true, Limit: limit(3, 100, 100), Breaker: delivery.BreakerState{State: "half-open", Misconfigured: true}},
		{Channel: notifier.Email, Setting: "FANLINE_SMTP_ADDR"},
	}
}

func (stagedEngine) Instances(context.Context) ([]live.InstanceFigures, error) {
	return []live.InstanceFigures{
		{Name: "3f9c01d2a7b45e68", Fans: 21_408, Sockets: 22_010, Own: true}, {Name: "b1d2ce09f3774a10", Fans: 19_800, Sockets: 19_967},
	}, nil
}

func (w *world) stageClub() {
	const show = "locksmith-tue"
	for i := 1; i <= 36; i++ {
		j := waitlist.Join{FanID: fmt.Sprintf("fan-%02d", i)}
		if i%7 == 2 {
			j.Party = 4
		}
		if i%11 == 5 {
			j.Tier = "standing"
		}
		w.join(show, j)
	}
	w.free(show, waitlist.NewOpening{ID: "A-14", Seats: []string{"A-14", "A-15"}, Reason: "hold_timeout"})
	w.decide()
	w.buy(show, "A-14", "fan-01", "fan-03")
	w.free(show, waitlist.NewOpening{ID: "C-02", Seats: []string{"C-02", "C-03", "C-04"}, Tier: "stalls", Reason: "card_declined"})
	w.decide()
	w.opened(show, "C-02", "fan-04")
	w.must(w.Decline(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: "C-02"}, "fan-04"))
	w.take(show, "C-02", "fan-06")
	w.decide()
	w.free(show, waitlist.NewOpening{ID: "B-07", Quantity: 1})
	w.decide()
}

// stagePerson makes fan-31 somebody of whom everything is known.
func (w *world) stagePerson() {
	const fan = "fan-31"
	ctx := w.t.Context()
	w.show("matinee", "Sunday matinee", "The Locksmith")
	w.join("matinee", waitlist.Join{FanID: fan, Party: 2})
	_, err := w.store.PutProfile(ctx, fan, func(p *delivery.Profile) error {
		p.Locale, p.TimeZone = "en-IE", "Europe/Dublin"
		p.Quiet, p.TurnAtNight = &delivery.QuietHours{From: 22 * 60, To: 8 * 60}, true
		return errors.Join(p.SetEmail("ada.lovelace@example.com"), p.SetPhone("+353 1 679 5711"), p.SetChannels(notifier.KindAnnouncement, []string{"email"}))
	})
	w.must(err)
	for id, d := range map[string]delivery.Device{
		"phone": {Platform: notifier.APNs, Token: strings.Repeat("ab12cd34", 8)}, "tablet": {Platform: notifier.FCM, Token: "fcm-token-of-a-tablet-0042"},
	} {
		_, _, err := w.store.PutDevice(ctx, fan, id, func(to *delivery.Device) error { to.Platform, to.Token = d.Platform, d.Token; return to.Check(false) })
		w.must(err)
	}
	w.sql(`
		INSERT INTO deliveries (day, key, fan_no, kind, ref, item, lane, channel, address_ref, state, next_at, attempts, phase, phases, created_at)
		SELECT current_date, decode(md5(x.n::text), 'hex'), f.fan_no, 'turn', 1, 'turn:locksmith-tue:A-14', 'turns', x.channel, x.device, x.state, now(), 1,
			x.phases->-1->>'phase', x.phases, now() - x.n * interval '1 minute'
		FROM fans f, (VALUES
			(1, 'apns', 'phone', 'sent', '[{"phase":"accepted","at":"2026-11-03T09:00:00.100Z"},{"phase":"sent","at":"2026-11-03T09:00:00.350Z"},{"phase":"opened","at":"2026-11-03T09:00:21.000Z"}]'::jsonb),
			(2, 'fcm', 'tablet', 'over', '[{"phase":"accepted","at":"2026-11-03T09:00:00.100Z"},{"phase":"throttled","at":"2026-11-03T09:00:00.300Z"},{"phase":"failed","at":"2026-11-03T09:00:02.350Z","reason":"the_token_is_dead"}]'),
			(3, 'sms', '', 'over', '[{"phase":"skipped","at":"2026-11-03T09:00:30.000Z","reason":"the_turn_was_claimed"}]')) x (n, channel, device, state, phases)
		WHERE f.fan_id = $1`, fan)
}

// stageLanes puts jobs into the queues, as no bus runs here.
func (w *world) stageLanes() {
	w.sql(`DELETE FROM river_job`)
	w.sql(`
		INSERT INTO river_queue (name, updated_at) SELECT unnest(ARRAY['lane_transactional', 'transactional_sms', 'turns_apns', 'turns_fcm', 'bulk_email']), now()`)
	w.sql(`
		INSERT INTO river_job (state, queue, kind, args, max_attempts, scheduled_at, finalized_at)
		SELECT x.state::river_job_state, x.queue, 'send', '{}', 25, now() - x.age * interval '1 second', CASE WHEN x.state = 'completed' THEN now() END
		FROM (VALUES ('available', 'turns_apns', 340, 8), ('available', 'turns_fcm', 4200, 48), ('running', 'turns_apns', 4, 1),
			('completed', 'turns_apns', 380, 1), ('completed', 'lane_turns', 22, 1), ('running', 'lane_turns', 1, 0), ('retryable', 'bulk_email', 12, -60)) x (state, queue, n, age)
		CROSS JOIN LATERAL generate_series(1, x.n)`)
}

func (w *world) stageStadium() {
	const show = "marlow-vance"
	var batch []waitlist.Join
	for i := 1; i <= 12_000; i++ {
		batch = append(batch, waitlist.Join{FanID: fmt.Sprintf("fan-%05d", i), Party: 1 + i%4/3})
		if len(batch) == 1000 {
			if _, err := w.JoinMany(w.t.Context(), show, batch); err != nil {
				w.t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	w.free(show, waitlist.NewOpening{ID: "block-112", Quantity: 24, Reason: "new_inventory"})
	w.decide()
	w.buy(show, "block-112", "fan-00001", "fan-00002", "fan-00004", "fan-00005")
	w.take(show, "block-112", "fan-00006", "fan-00008")
	w.must(w.Leave(w.t.Context(), show, "fan-00009"))
	w.must(w.Decline(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: "block-112"}, "fan-00007"))
	w.decide()
	w.free(show, waitlist.NewOpening{ID: "late-returns", Quantity: 6})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// opened waits for a turn that the pace put a little off.
func (w *world) opened(show, opening, fan string) {
	w.t.Helper()
	for w.t.Context().Err() == nil {
		v, err := w.Verdict(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: opening}, fan)
		w.must(err)
		if v.Reason == waitlist.TurnOpen {
			return
		}
		if v.Reason != waitlist.TurnUpcoming {
			w.t.Fatalf("%s at %s: %s, want turn_open", fan, opening, v.Reason)
		}
	}
}

func (w *world) take(show, opening string, fans ...string) (claims []waitlist.Claim) {
	w.t.Helper()
	for _, fan := range fans {
		w.opened(show, opening, fan)
		c, _, err := w.Claim(w.t.Context(), waitlist.OpeningRef{ShowID: show, OpeningID: opening}, fan)
		w.must(err)
		claims = append(claims, c)
	}
	return claims
}

func (w *world) buy(show, opening string, fans ...string) {
	w.t.Helper()
	for _, c := range w.take(show, opening, fans...) {
		_, err := w.Confirm(w.t.Context(), c.ID)
		w.must(err)
	}
}

// longLine fills a show's line with fans "s-1" and so on, as joins would.
func (w *world) longLine(show string, n int) {
	w.t.Helper()
	w.sql(`
		WITH made AS (INSERT INTO fans (fan_id) SELECT 's-' || i FROM generate_series(1, $2::int) i RETURNING fan_no, fan_id)
		INSERT INTO entries (show_no, eno, fan_no, place, tier, party, joined_at, joined_decision)
		SELECT (SELECT show_no FROM shows WHERE show_id = $1), i, fan_no, i, '', 1, now(), 0
		FROM (SELECT fan_no, substr(fan_id, 3)::bigint AS i FROM made) m`, show, n)
	w.sql(`UPDATE lines SET next_eno = $2::int + 1, next_place = $2::int + 1 WHERE show_no = (SELECT show_no FROM shows WHERE show_id = $1)`, show, n)
	w.sql(`ANALYZE entries, fans`)
	w.must(w.store.FoldPositions(w.t.Context()))
}
