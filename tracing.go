package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"
	"github.com/riverqueue/rivercontrib/otelriver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracing sends spans to a collector, as OTLP over HTTP: of requests and jobs, and of
// the statements within them. They hold routes and SQL, never what was sent. Where
// nothing is traced it is nil, and its parts are too.
type tracing struct{ provider *sdktrace.TracerProvider }

// tracing is nil without a collector.
func (s *settings) tracing(ctx context.Context, log *slog.Logger) (*tracing, error) {
	if s.OTLPEndpoint == "" {
		return nil, nil
	}
	u, err := collector(s.OTLPEndpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.JoinPath("v1", "traces").String()))
	if err != nil {
		return nil, fmt.Errorf("make the exporter of traces: %w", err)
	}
	who, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "fanline"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("name the source of traces: %w", err)
	}
	return &tracing{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(loggedExporter{exporter, log}), sdktrace.WithResource(who),
		sdktrace.WithSampler(sdktrace.ParentBased(rooted{})),
	)}, nil
}

// collector reads the address of a collector.
func collector(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &badConfig{"OTEL_EXPORTER_OTLP_ENDPOINT", "must be an http or https address, as http://127.0.0.1:4318"}
	}
	return u, nil
}

func (t *tracing) requests() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer("fanline/web")
}

func (t *tracing) statements() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithDisableAcquireTracer(),
		otelpgx.WithDisableConnectionDetailsInAttributes())
}

// jobs has a job know the request that queued it.
func (t *tracing) jobs() []rivertype.Middleware {
	if t == nil {
		return nil
	}
	return []rivertype.Middleware{otelriver.NewMiddleware(&otelriver.MiddlewareConfig{
		TracerProvider: t.provider, EnableTracePropagation: true, EnableWorkSpanJobKindSuffix: true,
	})}
}

// stop sends what was not sent yet.
func (t *tracing) stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// rooted takes what begins with a request or a job. The statements of the loops that
// look by themselves, many a second, belong to nothing and are left out.
type rooted struct{}

// ShouldSample is sdktrace's.
func (rooted) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := sdktrace.SamplingResult{Decision: sdktrace.Drop}
	if p.Kind == trace.SpanKindServer || p.Kind == trace.SpanKindConsumer {
		r.Decision = sdktrace.RecordAndSample
	}
	return r
}

// Description is sdktrace's.
func (rooted) Description() string { return "requests and jobs" }

// loggedExporter tells the log of a collector that is away, which the library would
// tell a global.
type loggedExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

// ExportSpans drops what cannot be sent.
func (e loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.Warn("traces could not be sent", "spans", len(spans), "err", err)
	}
	return nil
}
