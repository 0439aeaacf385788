package web

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// follow begins the request's span, under the caller's where it sent one. As in the
// log, there is no path, query, body or person in it.
func (s *Server) follow(r *http.Request, m *meta) (context.Context, trace.Span) {
	if s.cfg.Tracer == nil || r.URL.Path == streamPath {
		return r.Context(), trace.SpanFromContext(r.Context())
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return s.cfg.Tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("fanline.request_id", m.id)))
}

// endSpan names the span by its route, which is known now.
func endSpan(span trace.Span, r *http.Request, status int) {
	if span.IsRecording() {
		route := routeOf(r)
		span.SetName(r.Method + " " + route)
		span.SetAttributes(attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
