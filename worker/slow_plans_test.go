package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// slowTracer makes every plan last a certain time.
type slowTracer struct {
	noop.TracerProvider

	lasts *time.Duration
}

func (s slowTracer) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return slowStart{lasts: s.lasts}
}

type slowStart struct {
	noop.Tracer

	lasts *time.Duration
}

func (s slowStart) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	<-time.After(*s.lasts)
	return s.Tracer.Start(ctx, name, o...)
}

// The events of a source with slow plans get jobs, because all deliveries would wait for the plans.
// One slow plan is not enough. After a minute, one plan shows whether the source is still slow.
// Other sources are planned as before.
func TestSourcesWithSlowPlansGetJobs(t *testing.T) {
	t.Parallel()
	var lasts time.Duration
	b := setup(t)
	b.opts.TracerProvider, b.opts.Sources = slowTracer{lasts: &lasts}, []string{"slow", "fast"}
	synctest.Test(t, func(t *testing.T) {
		w, err := New(b.opts)
		require.NoError(t, err)
		planned := func(source identity.Source, takes time.Duration) bool {
			t.Helper()
			lasts = takes
			plan := w.near.Plan(t.Context(), &inbox.Event{EventRef: identity.EventRef{Source: source, EventID: "evt"}, Type: "x"})
			if plan == nil {
				return false
			}
			plan.End(outbox.Dispatched{Left: true}, nil)
			return true
		}
		for range 2 {
			require.True(t, planned("slow", time.Second))
		}
		require.True(t, planned("slow", time.Millisecond))
		for range slowPlansInARow {
			require.True(t, planned("slow", time.Second))
		}
		require.False(t, planned("slow", time.Millisecond))
		require.True(t, planned("fast", time.Millisecond))
		<-time.After(slowPlansPause)
		require.True(t, planned("slow", time.Second))
		require.False(t, planned("slow", time.Second))
		<-time.After(slowPlansPause)
		require.True(t, planned("slow", time.Millisecond))
		require.True(t, planned("slow", time.Second))
	})
}
