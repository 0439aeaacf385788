package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"riverqueue.com/riverui"

	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/web/admin"
)

// engine is what the admin pages see of what runs beside the line.
type engine struct{ a *app }

// settingOf is the first variable to set for a channel that is off.
var settingOf = map[notifier.Channel]string{
	notifier.APNs: "FANLINE_APNS_KEY", notifier.FCM: "FANLINE_FCM_CREDENTIALS", notifier.WebPush: "FANLINE_WEBPUSH_PUBLIC_KEY",
	notifier.SMS: "FANLINE_TWILIO_ACCOUNT_SID", notifier.Email: "FANLINE_SMTP_ADDR",
}

// Providers are those of all channels but live.
func (e engine) Providers(ctx context.Context) []admin.Provider {
	on := map[notifier.Channel]bool{}
	for _, c := range e.a.pipeline.Channels() {
		on[c] = true
	}
	var list []admin.Provider
	for _, c := range notifier.Channels {
		if c == notifier.Live {
			continue
		}
		p := admin.Provider{Channel: c, On: on[c], Setting: settingOf[c]}
		if p.On {
			p.Limit, p.Breaker = e.a.limits.State(ctx, c), e.a.breakers.State(c)
		}
		list = append(list, p)
	}
	return list
}

// Instances are the processes that serve now.
func (e engine) Instances(ctx context.Context) ([]live.InstanceFigures, error) {
	return e.a.registry.Census(ctx)
}

// jobPages are River's own pages, which look at the queue from Start to Stop.
type jobPages struct {
	*riverui.Handler
	end context.CancelFunc
}

// Start begins to look. What it begins ends with ctx at the latest.
func (j *jobPages) Start(ctx context.Context) error {
	ctx, j.end = context.WithCancel(ctx)
	if err := j.Handler.Start(ctx); err != nil {
		j.end()
		return fmt.Errorf("start the jobs' pages: %w", err)
	}
	return nil
}

// Stop ends it. It is called after a Start.
func (j *jobPages) Stop() { j.end() }

// newJobs makes River's own pages. Its client only reads and changes jobs; the bus's
// works them.
func (a *app) newJobs() (*jobPages, error) {
	client, err := river.NewClient(a.store.Driver(), &river.Config{Logger: a.log})
	if err != nil {
		return nil, fmt.Errorf("make the client of the jobs' pages: %w", err)
	}
	h, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(client, nil), Prefix: "/admin/jobs",
		Logger: slog.New(a.log.Handler()).With("part", "jobs"), JobListHideArgsByDefault: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the jobs' pages: %w", err)
	}
	return &jobPages{Handler: h}, nil
}
