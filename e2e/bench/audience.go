package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fanline/sim"
	"fanline/sim/providers"
)

// audience is a line of fans with a device each, and the services that their devices listen to. Its instances send to
// those; the services live in this process, answer at once and keep counts alone.
type audience struct {
	*bench
	phones *providers.Phones
	apns   *providers.APNs
	fcm    *providers.FCM
	app    *sim.App
	n      int // announcements so far
}

func (b *bench) newAudience() (*audience, error) {
	a := &audience{bench: b, phones: providers.NewPhones(providers.PhonesConfig{Keep: -1})}
	var err error
	if a.apns, err = providers.StartAPNs(providers.APNsConfig{Phones: a.phones}); err != nil {
		return nil, err
	}
	if a.fcm, err = providers.StartFCM(providers.FCMConfig{Phones: a.phones}); err != nil {
		a.apns.Close()
		return nil, err
	}
	return a, nil
}

func (a *audience) close() {
	a.apns.Close()
	a.fcm.Close()
}

// serve starts an instance that sends to the services.
func (a *audience) serve(ctx context.Context, env ...string) (*instance, error) {
	i, err := a.bench.serve(ctx, append(env,
		"FANLINE_APNS_URL="+a.apns.URL(), "FANLINE_APNS_KEY="+a.apns.Key(), "FANLINE_APNS_KEY_ID="+providers.APNsKeyID,
		"FANLINE_APNS_TEAM_ID="+providers.APNsTeamID, "FANLINE_APNS_TOPIC="+providers.APNsTopic,
		"FANLINE_FCM_URL="+a.fcm.URL(), "FANLINE_FCM_CREDENTIALS="+a.fcm.Credentials(), "FANLINE_FCM_PROJECT="+providers.FCMProject)...)
	if err == nil {
		a.app = sim.NewApp([]string{i.url}, apiKey)
	}
	return i, err
}

// fill makes a line of n fans with a device of a platform each.
func (a *audience) fill(ctx context.Context, show, platform string, n int) error {
	l, err := a.openLine(ctx, false)
	if err != nil {
		return err
	}
	defer l.close()
	line := bigLine{show: show, size: n}
	if line.no, err = l.put(ctx, show, `{}`); err != nil {
		return err
	}
	a.progress.step()
	if err := a.fillBig(ctx, line); err != nil {
		return err
	}
	if _, err := a.db.Exec(ctx, `
		INSERT INTO devices (fan_no, device_id, platform, token, environment, registered_at, used)
		SELECT f.fan_no, 'phone', $2, encode(sha256(fan_id::bytea), 'hex'), CASE WHEN $2 = 'apns' THEN 'production' ELSE '' END, now(), true
		FROM fans f JOIN entries e USING (fan_no) WHERE e.show_no = $1`, line.no, platform); err != nil {
		return err
	}
	return a.settle(ctx, l)
}

// sending is a blast that is under way.
type sending struct {
	*audience
	want        int
	first, last atomic.Int64 // Unix nanoseconds
	busy        atomic.Int64 // when 95 % were sent: there is enough to send before
	came        atomic.Int64
	done        chan struct{}
}

// announce begins a blast to a line of n.
func (a *audience) announce(ctx context.Context, show, channel string, n int) (*sending, error) {
	a.n++
	s := &sending{audience: a, want: n, done: make(chan struct{})}
	_, err := a.app.Announce(ctx, show, sim.Announce{
		ID: fmt.Sprint("blast-", a.n), Title: "Doors at seven", Body: "The support act is on at eight, so come early.", Channels: []string{channel},
	})
	return s, err
}

// got counts a send.
func (s *sending) got(g providers.Got) {
	if !g.Accepted {
		return
	}
	s.first.CompareAndSwap(0, g.At.UnixNano())
	came := s.came.Add(1)
	if came == int64(s.want)*95/100 {
		s.busy.Store(g.At.UnixNano())
	}
	if came == int64(s.want) {
		s.last.Store(g.At.UnixNano())
		close(s.done)
	}
}

// wait waits for the last send.
func (s *sending) wait(ctx context.Context, patience time.Duration) error {
	deadline := time.After(patience)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	s.progress.step()
	for {
		select {
		case <-s.done:
			s.progress.at("sends", s.want, s.want)
			return nil
		case <-tick.C:
			s.progress.at("sends", int(s.came.Load()), s.want)
		case <-deadline:
			return fmt.Errorf("%d of %d were sent in %v", s.came.Load(), s.want, patience)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), errors.New("a blast was not through"))
		}
	}
}

// rate is sends a second, between the first and the last.
func (s *sending) rate() float64 {
	return float64(s.want-1) / time.Duration(s.last.Load()-s.first.Load()).Seconds()
}

// tokenOf is the token of a fan's device, as fill makes it.
func tokenOf(fan string) string {
	sum := sha256.Sum256([]byte(fan))
	return hex.EncodeToString(sum[:])
}
