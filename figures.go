package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"fanline/delivery"
	"fanline/delivery/live"
	"fanline/notifier"
	"fanline/ratelimit"
	"fanline/store"
)

// figures are what the parts count, read when they are asked for. A name that ends in
// _total only grows.
type figures struct{ reg prometheus.Registerer }

func (f figures) counter(name, help string, read func() int64) {
	f.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "fanline", Name: name, Help: help},
		func() float64 { return float64(read()) }))
}

func (f figures) gauge(name, help string, read func() float64) {
	f.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "fanline", Name: name, Help: help}, read))
}

// measure registers the figures of all parts but web, which registers its own.
func (a *app) measure(reg prometheus.Registerer) {
	f := figures{reg}
	f.gauge("clock_behind_seconds", "How far the database's clock is behind the last decision; more than 1 says that it was set back.",
		func() float64 { return a.store.ClockBehind().Seconds() })
	a.measureHub(f)
	a.measureRegistry(f)
	a.measureLimits(f)
	a.measureCache(f)
	a.measureFollowers(f)
	a.measureLanes(f)
	a.measurePipeline(f)
	a.measureFeedback(f)
}

func (a *app) measureHub(f figures) {
	gauge := func(name, help string, read func(live.Stats) int64) {
		f.gauge(name, help, func() float64 { return float64(read(a.hub.Stats())) })
	}
	gauge("sockets", "Connected sockets of this instance.", func(s live.Stats) int64 { return s.Connections })
	gauge("connected_fans", "Fans with a socket on this instance.", func(s live.Stats) int64 { return s.Fans })
	gauge("queued_frames", "Frames that wait for slow readers.", func(s live.Stats) int64 { return s.QueuedFrames })
	gauge("scheduled_pushes", "Turns that wait for their moment.", func(s live.Stats) int64 { return s.Scheduled })
	f.counter("pushes_total", "Frames pushed to fans.", func() int64 { return a.hub.Stats().Pushes })
	f.counter("slow_closes_total", "Sockets closed as too slow.", func() int64 { return a.hub.Stats().SlowCloses })
	f.counter("look_errors_total", "Looks at what is new for connected fans that failed.", func() int64 { return a.hub.Stats().LookErrors })
}

func (a *app) measureRegistry(f figures) {
	f.gauge("registry_waiting_fans", "Fans whose coming or going this instance has yet to write to Redis.",
		func() float64 { return float64(a.registry.Stats().Waiting) })
	f.counter("registry_wakes_total", "Wakes that came from other instances.", func() int64 { return a.registry.Stats().Wakes })
	f.counter("registry_published_total", "Messages sent to other instances.", func() int64 { return a.registry.Stats().Published })
	f.counter("registry_errors_total", "Exchanges with Redis about who is connected where that failed.",
		func() int64 { return a.registry.Stats().Errors })
}

func (a *app) measureLimits(f figures) {
	counter := func(name, help string, read func(ratelimit.Stats) int64) {
		f.counter(name, help, func() int64 { return read(a.limiter.Stats()) })
	}
	counter("limit_refused_total", "Calls that a limit refused.", func(s ratelimit.Stats) int64 { return s.Refused })
	counter("limit_alone_total", "Limits kept by this instance alone, without Redis.", func(s ratelimit.Stats) int64 { return s.Alone })
	f.counter("limit_empty_total", "Times when a provider's limit had no permit.", a.limits.Refused)
}

func (a *app) measureCache(f figures) {
	from := func(where string, read func(store.CacheStats) int64) {
		f.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "fanline", Name: "cache_reads_total", ConstLabels: prometheus.Labels{"from": where},
			Help: "Reads of verdicts' and inboxes' inputs, by where they came from; joined waited for another's load.",
		}, func() float64 { return float64(read(a.cache.Stats())) }))
	}
	from("process", func(s store.CacheStats) int64 { return s.Local })
	from("redis", func(s store.CacheStats) int64 { return s.Shared })
	from("postgres", func(s store.CacheStats) int64 { return s.Loads })
	from("joined", func(s store.CacheStats) int64 { return s.Joined })
	f.counter("cache_bypassed_total", "Reads that kept nothing in this process, which did not hear the others.",
		func() int64 { return a.cache.Stats().Bypassed })
	f.counter("cache_stale_total", "Keys that this instance's writes made stale.", func() int64 { return a.cache.Stats().Stale })
	f.counter("cache_redis_faults_total", "Calls of Redis by the cache that failed.", func() int64 { return a.cache.Stats().Faults })
}

// measureFollowers registers the figures of those who follow the stream.
func (a *app) measureFollowers(f figures) {
	f.counter("webhooks_sent_total", "Events that webhook endpoints took.", func() int64 { return a.webhooks.Stats().Sent })
	f.counter("webhooks_failed_total", "Attempts that they did not.", func() int64 { return a.webhooks.Stats().Failed })
	f.counter("webhooks_disabled_total", "Endpoints disabled after they failed for long, or were gone.",
		func() int64 { return a.webhooks.Stats().Disabled })
	if a.kafka != nil {
		f.counter("kafka_exported_total", "Events written to Kafka.", a.kafka.Exported)
		f.counter("kafka_failed_total", "Pages that the brokers did not acknowledge.", a.kafka.Failed)
	}
}

// measureLanes registers the figures of the queues, which are those of all instances.
func (a *app) measureLanes(f figures) {
	f.gauge("queues_unserved", "Queues with work that no process does. An alarm.", func() (n float64) {
		for _, q := range a.lanes.Loads() {
			if q.Unserved() {
				n++
			}
		}
		return n
	})
	f.reg.MustRegister(&laneFigures{a.lanes, prometheus.NewDesc("fanline_queue_oldest_seconds",
		"For how long the oldest job of a queue that is due has waited.", []string{"queue"}, nil)})
}

// laneFigures are ages by queue, which only running tells.
type laneFigures struct {
	lanes  *notifier.LaneWatch
	oldest *prometheus.Desc
}

// Describe names the figure.
func (l *laneFigures) Describe(to chan<- *prometheus.Desc) { to <- l.oldest }

// Collect reads it. The lanes' own queues are there also while nothing is known.
func (l *laneFigures) Collect(to chan<- prometheus.Metric) {
	ages := map[string]float64{}
	for _, lane := range notifier.Lanes {
		ages[notifier.Queue(lane)] = 0
	}
	for _, q := range l.lanes.Loads() {
		ages[q.Queue] = q.Oldest.Seconds()
	}
	for queue, age := range ages {
		to <- prometheus.MustNewConstMetric(l.oldest, prometheus.GaugeValue, age, queue)
	}
}

func (a *app) measurePipeline(f figures) {
	n := a.pipeline.Stats()
	f.counter("deliveries_sent_total", "Deliveries that a provider took.", n.Sent.Load)
	f.counter("deliveries_failed_total", "Deliveries that will never go.", n.Failed.Load)
	f.counter("deliveries_skipped_total", "Deliveries that were not to be made any more.", n.Skipped.Load)
	f.counter("deliveries_put_back_total", "Attempts that are to be made again.", n.Put.Load)
	f.counter("deliveries_throttled_total", "Attempts that a limit or a provider put off.", n.Throttled.Load)
	f.counter("deliveries_unsure_total", "Attempts that may have been accepted; made again with the same key.", n.Unsure.Load)
	f.counter("deliveries_duplicate_total", "Deliveries that were asked for again.", n.Duplicates.Load)
	f.counter("deliveries_misconfigured_total", "Attempts that say that a channel's settings are wrong. An alarm.", n.Misconfigured.Load)
	f.counter("deliveries_panicked_total", "Attempts that ended in a panic, and failed. A bug; the log has its stack.", n.Panics.Load)
	heard := a.feedback.Stats()
	f.counter("addresses_kept_total", "Addresses called dead, by an answer or later, that were kept since too many were. An alarm.",
		func() int64 { return n.Kept.Load() + heard.Kept.Load() })
	f.gauge("retire_alarms", "Channels whose provider calls suddenly many addresses dead, of which none is retired. An alarm.",
		func() float64 { return float64(a.retire.Alarms()) })
	f.counter("keys_errors_total", "Exchanges with Redis about keys of deliveries that failed.", a.keys.Errors)
}

func (a *app) measureFeedback(f figures) {
	f.reg.MustRegister(&phaseFigures{
		feedback: a.feedback, pipeline: a.pipeline,
		ended: prometheus.NewDesc("fanline_deliveries_total", "Deliveries by channel that came to a phase, as this process heard; complained is one.",
			[]string{"channel", "phase"}, nil),
	})
	f.gauge("mail_bounce_ratio", "Bounces among the mails of today and yesterday whose end was told; above 0.05 is an alarm.",
		func() float64 { return a.feedback.Rates(notifier.Email).Bounces })
	f.gauge("mail_complaint_ratio", "Complaints among the mails of today and yesterday whose end was told; above 0.001 is an alarm.",
		func() float64 { return a.feedback.Rates(notifier.Email).Complaints })
	f.counter("callbacks_forged_total", "Calls in providers' names that were not genuine.", a.feedback.Stats().Forged.Load)
}

// phaseFigures are deliveries by channel and phase, pairs that only running tells.
type phaseFigures struct {
	feedback *delivery.Feedback
	pipeline *delivery.Pipeline
	ended    *prometheus.Desc
}

// Describe names the figure.
func (p *phaseFigures) Describe(to chan<- *prometheus.Desc) { to <- p.ended }

// Collect reads it.
func (p *phaseFigures) Collect(to chan<- prometheus.Metric) {
	for k, n := range p.feedback.Stats().All() {
		to <- prometheus.MustNewConstMetric(p.ended, prometheus.CounterValue, float64(n), string(k.Channel), k.What)
	}
	for c, n := range p.pipeline.Stats().SentBy() {
		to <- prometheus.MustNewConstMetric(p.ended, prometheus.CounterValue, float64(n), string(c), string(notifier.PhaseSent))
	}
}
