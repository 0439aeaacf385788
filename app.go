package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"fanline/delivery"
	"fanline/delivery/kafka"
	"fanline/delivery/live"
	"fanline/delivery/webhook"
	"fanline/fanout"
	"fanline/notifier"
	"fanline/ratelimit"
	"fanline/store"
	"fanline/waitlist"
	"fanline/web"
	"fanline/web/admin"
)

// app is one instance.
type app struct {
	log     *slog.Logger
	opened  []part   // for close
	tracing *tracing // nil: nothing is traced

	store    *store.Store
	dbClock  *store.Clock
	keeper   *store.Keeper
	tail     *notifier.Tail
	webhooks *webhook.Sender
	kafka    *kafka.Exporter // nil: there is no Kafka
	cache    *store.Cache
	redis    redis.UniversalClient
	registry *live.Registry
	fanout   *fanout.Fanout
	deadline *waitlist.Clock
	lines    *waitlist.Service
	limiter  *ratelimit.Limiter
	keys     *delivery.Keys
	limits   *delivery.Limits
	breakers *delivery.Breakers
	retire   *delivery.RetireGuard
	feedback *delivery.Feedback
	digests  *delivery.DigestClock // nil: there is no mail
	pipeline *delivery.Pipeline
	alerts   *delivery.AlertClock
	bus      *notifier.Bus
	lanes    *notifier.LaneWatch
	fans     *web.TokenVerifier
	hub      *live.Hub
	jobs     *jobPages
	pages    *admin.Admin
	public   *web.Listener
	ops      *web.Listener
}

// newApp joins the parts together. Nothing works before run (parts.go), but the
// addresses are bound, so that a wrong one is known at once, and the database's clock
// is kept.
func newApp(ctx context.Context, s *settings, log *slog.Logger) (*app, error) {
	a := &app{log: log}
	if err := a.join(ctx, s); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// join makes the parts, each of what was made before it. What there was before an
// error is close's to give back.
func (a *app) join(ctx context.Context, s *settings) error {
	for _, step := range []func(context.Context, *settings) error{
		a.newStore, a.newFollowers, a.newRedis, a.newLine, a.newPipeline, a.newFeedback, a.newBus, a.newEdge,
	} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// newStore opens the database, with what keeps it and tells its time.
func (a *app) newStore(ctx context.Context, s *settings) (err error) {
	if a.tracing, err = s.tracing(ctx, a.log); err != nil {
		return err
	}
	a.giveBack("the traces", a.tracing.stop)
	if a.store, err = store.Open(ctx, store.Config{
		URL: s.DatabaseURL, ReadThreshold: s.ReadThreshold, Senders: s.senders(), Log: a.log,
		Tracer: a.tracing.statements(), Middleware: a.tracing.jobs(),
	}); err != nil {
		return err
	}
	a.giveBack("the database", ends(a.store.Close))
	if a.dbClock, err = a.store.NewClock(ctx); err != nil {
		return err
	}
	a.giveBack("the database's clock", ends(a.dbClock.Stop))
	a.keeper = a.store.NewKeeper()
	a.tail = notifier.NewTail(a.store, a.log)
	return nil
}

// newRedis opens Redis, with what stands on it alone: copies, and who is connected where.
func (a *app) newRedis(ctx context.Context, s *settings) (err error) {
	store.LogRedis(a.log)
	if a.redis, err = store.OpenRedis(s.RedisURL); err != nil {
		return &badConfig{"REDIS_URL", err.Error()}
	}
	a.giveBack("redis", func(context.Context) error { return a.redis.Close() })
	database, err := a.store.DatabaseName(ctx)
	if err != nil {
		return err
	}
	if a.cache, err = a.store.NewCache(store.CacheConfig{Redis: a.redis, Database: database, Clock: a.dbClock, Log: a.log}); err != nil {
		return err
	}
	a.giveBack("the cache", ends(a.cache.Stop))
	a.registry, err = live.NewRegistry(live.RegistryConfig{Redis: a.redis, Database: database, Log: a.log})
	return err
}

// newLine makes the line: the service, and the clock that has shows decided.
func (a *app) newLine(context.Context, *settings) error {
	a.fanout = fanout.New(a.registry, a.log)
	a.deadline = waitlist.NewClock(a.store, a.log, a.fanout.Decided)
	a.lines = waitlist.NewService(a.store, a.deadline, a.fanout.Changed)
	return nil
}

// newFollowers makes those who follow the event stream for others: the sender of
// webhooks, and the exporter to Kafka where there is one.
func (a *app) newFollowers(_ context.Context, s *settings) (err error) {
	a.webhooks = webhook.New(webhook.Config{Store: a.store, Grew: a.tail.Grew, Guard: s.guard(), Log: a.log})
	if s.KafkaBrokers == "" {
		return nil
	}
	if a.kafka, err = kafka.New(kafka.Config{
		Brokers: list(s.KafkaBrokers), Topic: s.KafkaTopic, Store: a.store, Grew: a.tail.Grew, Log: a.log,
	}); err != nil {
		return &badConfig{"FANLINE_KAFKA_BROKERS", err.Error()}
	}
	return nil
}

// newBus makes the queue, with whoever works its jobs.
func (a *app) newBus(_ context.Context, s *settings) error {
	lanes, err := s.lanes()
	if err != nil {
		return err
	}
	a.bus, err = notifier.NewBus(a.store.Driver(), notifier.BusConfig{
		Lanes: lanes, Log: a.log, Middleware: a.tracing.jobs(), Clock: a.dbClock,
		Handlers: map[notifier.Subscriber]notifier.Handler{
			notifier.WriteStrategy: fanout.Handler(waitlist.Write, a.store, a.deadline),
			notifier.ReadStrategy:  fanout.Handler(waitlist.Read, a.store, a.deadline),
			notifier.Blasts:        a.store.Blaster(a.pipeline.Channels()),
		},
		Sender: a.pipeline, Channels: a.pipeline.Channels(),
	})
	a.lanes = notifier.NewLaneWatch(a.store, a.log)
	return err
}

// newEdge makes what the outside reaches: the hub and HTTP.
func (a *app) newEdge(ctx context.Context, s *settings) error {
	auth, err := s.fans()
	if err != nil {
		return err
	}
	if a.fans, err = web.NewTokenVerifier(auth, a.log); err != nil {
		return &badConfig{s.fansVariable(), err.Error()}
	}
	a.giveBack("the fans' keys", ends(a.fans.Close))
	if a.hub, err = live.NewHub(live.HubConfig{
		Feed: a.store.Feed(), Lines: a.store.Lines(), Clock: a.dbClock, Acts: acts{a}, Registry: a.registry, Verify: a.fans.Verify, Log: a.log,
	}); err != nil {
		return err
	}
	keys, err := web.ParseAPIKeys(s.APIKeys)
	if err != nil {
		return &badConfig{"FANLINE_API_KEYS", err.Error()}
	}
	metrics := prometheus.NewRegistry()
	a.measure(metrics)
	if a.pages, err = a.newAdmin(s); err != nil {
		return err
	}
	server, err := web.New(web.Config{
		Lines: a.lines, Inbox: a.store, Stream: a.hub, Answers: a.store, Recipients: a.store, Sockets: sockets{a},
		Messages: &notifier.Intake{Messages: a.store, Changed: a.fanout.Changed}, Deliveries: a.store, Callbacks: a.feedback,
		Events: a.store, Tail: a.tail, Endpoints: a.store, EndpointGuard: s.guard(),
		Announcer: fanout.Announcer{Store: a.store, Fanout: a.fanout},
		APIKeys:   keys, Fans: a.fans, AllowedOrigins: list(s.AllowedOrigins),
		ClaimLimit: claimLimit{a.limiter, s.ClaimsPerS},
		Admin:      a.pages.Handler(),
		Demo:       s.demo, WebPushKey: s.webPushKey(), LocalPush: s.forDevelopment(),
		Tracer: a.tracing.requests(),
		Ready:  a.ready, Metrics: metrics, Log: a.log, Version: version, Build: build(),
	})
	if err != nil {
		return &badConfig{"FANLINE_ALLOWED_ORIGINS", err.Error()}
	}
	if a.public, err = server.Listen(ctx, s.Addr); err != nil {
		return &badConfig{"FANLINE_ADDR", err.Error()}
	}
	a.giveBack("the public address", a.public.Shutdown)
	if a.ops, err = server.ListenOps(ctx, s.OpsAddr); err != nil {
		return &badConfig{"FANLINE_OPS_ADDR", err.Error()}
	}
	a.giveBack("the operations address", a.ops.Shutdown)
	return nil
}

// ready is what this process needs.
func (a *app) ready(ctx context.Context) []web.Check {
	return []web.Check{
		{Name: "postgres", Err: a.store.Ping(ctx)},
		{Name: "migrations", Err: a.store.Migrated(ctx)},
		{Name: "lanes", Err: a.bus.Running()},
		{Name: "draining", Err: draining(a.hub)},
	}
}

func draining(h *live.Hub) error {
	if h.Draining() {
		return errors.New("this instance is stopping")
	}
	return nil
}
