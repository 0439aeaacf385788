package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"fanline/delivery"
	"fanline/delivery/callback"
	"fanline/delivery/twilio"
	"fanline/notifier"
	"fanline/store"
)

// newFeedback makes what takes the calls of providers. Twilio's are believed where
// it is set up and was told where to call.
func (a *app) newFeedback(ctx context.Context, s *settings) error {
	secret, err := a.store.CallbackSecret(ctx)
	if err != nil {
		return err
	}
	readers := map[string]delivery.CallReader{
		"email": &callback.Email{Secret: callback.EmailSecret(secret)},
		"push":  &callback.Push{Secret: callback.PushSecret(secret)},
	}
	if s.twilio().on() && s.PublicURL != "" {
		if readers["twilio"], err = twilio.NewCalls(s.twilioConfig()); err != nil {
			return s.twilio().bad(err)
		}
	}
	a.feedback, err = delivery.NewFeedback(delivery.FeedbackConfig{
		Store: a.store, Retire: a.retire, Slow: a.limits.Slow, Opened: a.lines.Wake, Readers: readers, Clock: a.dbClock, Log: a.log,
	})
	return err
}

// measureFeedback registers its figures.
func (a *app) measureFeedback(reg prometheus.Registerer) {
	reg.MustRegister(&feedbackFigures{
		feedback: a.feedback, pipeline: a.pipeline,
		ended: prometheus.NewDesc("fanline_deliveries_total", "Deliveries by channel that came to a phase, as this process heard; complained is one.",
			[]string{"channel", "phase"}, nil),
		bounces: prometheus.NewDesc("fanline_mail_bounce_ratio", "Bounces among the mails of today and yesterday whose end was told; above 0.05 is an alarm.", nil, nil),
		complaints: prometheus.NewDesc("fanline_mail_complaint_ratio",
			"Complaints among the mails of today and yesterday whose end was told; above 0.001 is an alarm.", nil, nil),
		forged: prometheus.NewDesc("fanline_callbacks_forged_total", "Calls in providers' names that were not genuine.", nil, nil),
	})
}

// feedbackFigures are read when they are asked for.
type feedbackFigures struct {
	feedback                           *delivery.Feedback
	pipeline                           *delivery.Pipeline
	ended, bounces, complaints, forged *prometheus.Desc
}

// Describe names the figures.
func (f *feedbackFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.ended, f.bounces, f.complaints, f.forged} {
		to <- d
	}
}

// Collect reads them.
func (f *feedbackFigures) Collect(to chan<- prometheus.Metric) {
	stats := f.feedback.Stats()
	for k, n := range stats.All() {
		to <- prometheus.MustNewConstMetric(f.ended, prometheus.CounterValue, float64(n), string(k.Channel), k.What)
	}
	for c, n := range f.pipeline.Stats().SentBy() {
		to <- prometheus.MustNewConstMetric(f.ended, prometheus.CounterValue, float64(n), string(c), string(notifier.PhaseSent))
	}
	rates := f.feedback.Rates(notifier.Email)
	to <- prometheus.MustNewConstMetric(f.bounces, prometheus.GaugeValue, rates.Bounces)
	to <- prometheus.MustNewConstMetric(f.complaints, prometheus.GaugeValue, rates.Complaints)
	to <- prometheus.MustNewConstMetric(f.forged, prometheus.CounterValue, float64(stats.Forged.Load()))
}

type callbackSecretsCommand struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"postgres://user:password@host:5432/name"`
}

// Run prints the secrets, which are made of one in the database.
func (c callbackSecretsCommand) Run(ctx context.Context) error {
	if err := checkDatabaseURL(c.DatabaseURL); err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: c.DatabaseURL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer s.Close()
	secret, err := s.CallbackSecret(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("email %s\npush  %s\n",
		callback.SecretText(callback.EmailSecret(secret)), callback.SecretText(callback.PushSecret(secret)))
	return nil
}
