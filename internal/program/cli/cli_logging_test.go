package cli

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

func TestALineOfTheLogIsOneLine(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1,127.0.0.1:2/none?sslmode=disable")
	require.NoError(t, err)
	defer pool.Close()
	away := pool.Ping(t.Context())
	require.ErrorContains(t, away, "\n\t", "pgx reports each address on a separate line")
	for _, format := range []string{"text", "json"} {
		var stderr strings.Builder
		logger, err := (&cli{Process: &Process{Stderr: &stderr}, logFormat: format}).logger(slog.LevelInfo)
		require.NoError(t, err)
		logger.Warn("waiting for the database", slog.Any(logkey.Err, away))
		logger.Warn("waiting for the database", slog.String(logkey.Err, away.Error()))
		got := stderr.String()
		require.NotContains(t, got, `\n`)
		require.NotContains(t, got, `\t`)
		require.Equal(t, 2, strings.Count(got, "database=none`: 127.0.0.1:1 (127.0.0.1): dial error"), got)
		require.Equal(t, 2, strings.Count(got, "refused; 127.0.0.1:2 (127.0.0.1): dial error"), got)
	}
}

func TestALineOfTheLogNamesItsTrace(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	logger, err := (&cli{Process: &Process{Stderr: &stderr}, logFormat: "json"}).logger(slog.LevelInfo)
	require.NoError(t, err)
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab}, SpanID: trace.SpanID{0xcd},
	}))
	logger.With(slog.String(logkey.Source, "stripe")).InfoContext(ctx, "event accepted")
	logger.Info("ready")
	var accepted, ready map[string]any
	lines := json.NewDecoder(strings.NewReader(stderr.String()))
	require.NoError(t, lines.Decode(&accepted))
	require.NoError(t, lines.Decode(&ready))
	require.Equal(t, "ab000000000000000000000000000000", accepted[logkey.TraceID])
	require.Equal(t, "stripe", accepted[logkey.Source])
	require.NotContains(t, ready, logkey.TraceID)
}
