package main

import (
	"context"
	"slices"
	"strings"

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
	a.giveBack("the providers", func(context.Context) error { return a.pipeline.Close() })
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
