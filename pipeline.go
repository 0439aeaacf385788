package main

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/ratelimit"
)

// newPipeline makes what tells fans who are not looking, with the providers that
// are set up.
func (a *app) newPipeline(ctx context.Context, s *settings) (err error) {
	if a.limiter, err = ratelimit.New(ratelimit.Config{Redis: a.redis, Instances: a.registry.Instances, Log: a.log}); err != nil {
		return err
	}
	limits, err := delivery.ParseLimits(s.Limits)
	if err != nil {
		return &badConfig{"FANLINE_LIMITS", err.Error()}
	}
	providers, err := s.providers(a.log)
	if err != nil {
		return err
	}
	database, err := a.store.Database(ctx)
	if err != nil {
		return err
	}
	a.keys = delivery.NewKeys(delivery.KeysConfig{Redis: a.redis, Database: database, Log: a.log})
	a.limits, a.breakers = delivery.NewLimits(a.limiter, limits), delivery.NewBreakers(a.log)
	a.retire = delivery.NewRetireGuard(a.log)
	a.pipeline, err = delivery.NewPipeline(delivery.PipelineConfig{
		Outbox: a.store, Recipients: a.store, Online: a.registry, Providers: providers, Keys: a.keys,
		Limits: a.limits, Breakers: a.breakers, Retire: a.retire, Clock: a.dbClock, Unsubscribe: s.unsubscribe(), Log: a.log,
	})
	if err != nil {
		return err
	}
	if slices.Contains(a.pipeline.Channels(), notifier.Email) {
		a.digests = delivery.NewDigestClock(a.store, a.dbClock, a.log)
	}
	a.alerts = delivery.NewAlertClock(a.store, a.pipeline.Channels(), a.log)
	return nil
}

// unsubscribe is the address that an unsubscribe token is put behind.
func (s *settings) unsubscribe() string {
	if s.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(s.PublicURL, "/") + "/u/"
}

// measurePipeline registers its figures.
func (a *app) measurePipeline(reg prometheus.Registerer) {
	counter := func(name, help string, f func() int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "fanline", Name: name, Help: help},
			func() float64 { return float64(f()) }))
	}
	n := a.pipeline.Stats()
	counter("deliveries_sent_total", "Deliveries that a provider took.", n.Sent.Load)
	counter("deliveries_failed_total", "Deliveries that will never go.", n.Failed.Load)
	counter("deliveries_skipped_total", "Deliveries that were not to be made any more.", n.Skipped.Load)
	counter("deliveries_put_back_total", "Attempts that are to be made again.", n.Put.Load)
	counter("deliveries_throttled_total", "Attempts that a limit or a provider put off.", n.Throttled.Load)
	counter("deliveries_unsure_total", "Attempts that may have been accepted; made again with the same key.", n.Unsure.Load)
	counter("deliveries_duplicate_total", "Deliveries that were asked for again.", n.Duplicates.Load)
	counter("deliveries_misconfigured_total", "Attempts that say that a channel's settings are wrong. An alarm.", n.Misconfigured.Load)
	counter("deliveries_panicked_total", "Attempts that ended in a panic, and failed. A bug; the log has its stack.", n.Panics.Load)
	counter("addresses_kept_total", "Addresses called dead that were kept since too many were. An alarm.", n.Kept.Load)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "fanline", Name: "retire_alarms", Help: "Channels whose provider calls suddenly many addresses dead, of which none is retired. An alarm.",
	}, func() float64 { return float64(a.retire.Alarms()) }))
	counter("keys_errors_total", "Exchanges with Redis about keys of deliveries that failed.", a.keys.Errors)
	counter("limit_empty_total", "Times when a provider's limit had no permit.", a.limits.Refused)
}
