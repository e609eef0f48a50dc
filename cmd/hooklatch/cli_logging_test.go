package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// logged returns the lines of a JSON log by message.
func logged(t *testing.T, log string) map[string][]map[string]any {
	t.Helper()
	lines := map[string][]map[string]any{}
	for line := range strings.Lines(log) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		message, ok := fields["msg"].(string)
		require.True(t, ok, line)
		lines[message] = append(lines[message], fields)
	}
	return lines
}

func TestTheLogSaysWhatStartedAndThatItStopped(t *testing.T) {
	t.Parallel()
	path := writeServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	cfg, err := config.Load(path, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var c command
	code := make(chan int)
	go func() { code <- c.run(ctx, "serve", "--config", path, "--log-format", "json") }()
	require.Eventually(t, func() bool { return strings.Contains(c.stderr.String(), `"msg":"ready"`) }, patience, tick)

	started := logged(t, c.stderr.String())["started"]
	require.Len(t, started, 1)
	require.Equal(t, (&process{}).readBuild().Version, started[0][logkey.Version])
	require.Equal(t, path, started[0][logkey.Config])
	require.Equal(t, cfg.Hash(), started[0][logkey.ConfigHash])
	for _, listener := range []string{logkey.Admin, logkey.Gateway} {
		address, ok := started[0][listener].(string)
		require.True(t, ok, listener)
		require.NoError(t, get(t, address+"/").Body.Close())
	}
	cancel()
	require.Zero(t, <-code, c.stderr.String())
	lines := logged(t, c.stderr.String())
	require.Len(t, lines["ready"], 1)
	require.Len(t, lines["stopped"], 1)
	require.IsType(t, 0.0, lines["stopped"][0][logkey.Duration])
}

func TestALineOfTheLogIsOneLine(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1,127.0.0.1:2/none?sslmode=disable")
	require.NoError(t, err)
	defer pool.Close()
	away := pool.Ping(t.Context())
	require.ErrorContains(t, away, "\n\t", "pgx reports each address on a separate line")
	for _, format := range []string{"text", "json"} {
		var stderr strings.Builder
		logger, err := (&cli{process: &process{stderr: &stderr}, logFormat: format}).logger(slog.LevelInfo)
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
	logger, err := (&cli{process: &process{stderr: &stderr}, logFormat: "json"}).logger(slog.LevelInfo)
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
