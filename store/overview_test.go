package store_test

import (
	"testing"
	"time"

	"fanline/notifier"
	"fanline/waitlist"
)

func TestMidnightIsTheShowsOwn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 3, 30, 0, 0, time.UTC)
	for zone, want := range map[string]string{
		"Europe/Dublin": "2026-06-30T23:00:00Z", "America/New_York": "2026-06-30T04:00:00Z", "nowhere": "2026-07-01T00:00:00Z",
	} {
		s := waitlist.Show{TimeZone: zone}
		if got := s.Midnight(now).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, want %s", zone, got, want)
		}
	}
}

func TestTheLoadOfAQueueIsCountedUpToABound(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, err := o.store.Pool().Exec(t.Context(), `
		INSERT INTO river_job (state, queue, kind, args, max_attempts, scheduled_at, finalized_at)
		SELECT x.state::river_job_state, x.queue, 'send', '{}', 25, now() - x.age * interval '1 second', CASE WHEN x.state = 'completed' THEN now() END
		FROM (VALUES ('available', 'turns_apns', 10100, 30), ('completed', 'turns_apns', 50, 0), ('completed', 'bulk_email', 20, 0),
			('scheduled', 'bulk_email', 7, -60), ('available', 'bulk_email', 1, 2)) x (state, queue, n, age)
		CROSS JOIN LATERAL generate_series(1, x.n)`)
	must(t, err)
	loads, err := o.store.QueueLoads(t.Context())
	must(t, err)
	byName := map[string]notifier.QueueLoad{}
	for _, l := range loads {
		byName[l.Queue] = l
	}
	if l := byName["turns_apns"]; l.Waiting != notifier.QueueLoadMost || l.Oldest < 30*time.Second || l.PerSecond != 5 {
		t.Errorf("turns_apns: %+v", l)
	}
	if l := byName["bulk_email"]; l.Waiting != 1 || l.Later != 7 || l.PerSecond != 2 || l.Oldest < 2*time.Second || l.Oldest > 29*time.Second {
		t.Errorf("bulk_email: %+v", l)
	}
}

func TestSendRatesAreOfTheNewestEvents(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, err := o.store.Pool().Exec(t.Context(), `
		INSERT INTO events (at, type, data)
		SELECT now() - x.ago * interval '1 second', x.type, jsonb_build_object('channel', x.channel, 'platform', x.channel)
		FROM (VALUES ('delivery.sent', 'apns', 40, 1), ('delivery.failed', 'apns', 10, 1), ('delivery.sent', 'sms', 100, 60), ('device.retired', 'fcm', 3, 3600))
			x (type, channel, n, ago) CROSS JOIN LATERAL generate_series(1, x.n)`)
	must(t, err)
	rates, err := o.store.SendRates(t.Context())
	must(t, err)
	got := map[notifier.Channel]notifier.SendRate{}
	for _, r := range rates {
		got[r.Channel] = r
	}
	if r := got[notifier.APNs]; r.Sent != 4 || r.Failed != 1 {
		t.Errorf("apns: %+v", r)
	}
	if r := got[notifier.FCM]; r.Retired != 3 {
		t.Errorf("fcm: %+v", r)
	}
	if r, ok := got[notifier.SMS]; ok {
		t.Errorf("sms, of a minute ago: %+v", r)
	}
}
