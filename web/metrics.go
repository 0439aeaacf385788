package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	took     *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// newMetrics registers the metrics; two servers need two registries.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fanline_http_request_duration_seconds",
			Help:    "How long requests took, by route pattern; without the stream.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fanline_http_requests_in_flight", Help: "Requests being served, open streams among them.",
		}),
	}
	for _, c := range []prometheus.Collector{m.took, m.inFlight} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// observe leaves out accepted streams: they last for hours.
func (m *metrics) observe(method, route string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other" // callers make these up
	}
	if status != http.StatusSwitchingProtocols {
		m.took.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	}
}
