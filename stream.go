package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"fanline/delivery/dial"
)

// guard says where connections to addresses that others chose may go: in development,
// to this machine too.
func (s *settings) guard() dial.Guard { return dial.Guard{AllowLoopback: s.forDevelopment()} }

// measureFollowers registers the figures of those who follow the stream.
func (a *app) measureFollowers(reg prometheus.Registerer) {
	counter := func(name, help string, f func() int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "fanline", Name: name, Help: help},
			func() float64 { return float64(f()) }))
	}
	counter("webhooks_sent_total", "Events that webhook endpoints took.", func() int64 { return a.webhooks.Stats().Sent })
	counter("webhooks_failed_total", "Attempts that they did not.", func() int64 { return a.webhooks.Stats().Failed })
	counter("webhooks_disabled_total", "Endpoints disabled after they failed for long, or were gone.", func() int64 { return a.webhooks.Stats().Disabled })
	if a.kafka != nil {
		counter("kafka_exported_total", "Events written to Kafka.", a.kafka.Exported)
		counter("kafka_failed_total", "Pages that the brokers did not acknowledge.", a.kafka.Failed)
	}
}
