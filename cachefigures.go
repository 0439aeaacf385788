package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"fanline/store"
)

// measureCache registers the figures of the cache.
func (a *app) measureCache(reg prometheus.Registerer) {
	vec := func(where string, f func(store.CacheStats) int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "fanline", Name: "cache_reads_total", ConstLabels: prometheus.Labels{"from": where},
			Help: "Reads of verdicts' and inboxes' inputs, by where they came from; joined waited for another's load.",
		}, func() float64 { return float64(f(a.cache.Stats())) }))
	}
	vec("process", func(s store.CacheStats) int64 { return s.Local })
	vec("redis", func(s store.CacheStats) int64 { return s.Shared })
	vec("postgres", func(s store.CacheStats) int64 { return s.Loads })
	vec("joined", func(s store.CacheStats) int64 { return s.Joined })
	counter := func(name, help string, f func(store.CacheStats) int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "fanline", Name: name, Help: help},
			func() float64 { return float64(f(a.cache.Stats())) }))
	}
	counter("cache_bypassed_total", "Reads that kept nothing in this process, which did not hear the others.",
		func(s store.CacheStats) int64 { return s.Bypassed })
	counter("cache_stale_total", "Keys that this instance's writes made stale.", func(s store.CacheStats) int64 { return s.Stale })
	counter("cache_redis_faults_total", "Calls of Redis by the cache that failed.", func(s store.CacheStats) int64 { return s.Faults })
}
