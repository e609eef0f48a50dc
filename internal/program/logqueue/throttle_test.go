package logqueue_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

func TestLinesOfOneMessageAreThrottledAndCounted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	handler := logqueue.Throttled(slog.NewTextHandler(&out, nil))
	now := time.Unix(1_700_000_000, 0)
	write := func(h slog.Handler, message string) {
		require.NoError(t, h.Handle(context.Background(), slog.NewRecord(now, slog.LevelWarn, message, 0)))
	}
	for range 100 {
		write(handler, "refused")
		write(handler.WithAttrs([]slog.Attr{slog.String("person", "vera")}), "refused")
	}
	require.Equal(t, 10, strings.Count(out.String(), "msg=refused"))
	write(handler, "signed")
	require.Contains(t, out.String(), "msg=signed", "other messages are not throttled")

	out.Reset()
	now = now.Add(time.Second)
	write(handler, "refused")
	write(handler, "refused")
	require.Equal(t, 1, strings.Count(out.String(), "msg=refused"))
	require.Contains(t, out.String(), "count=190")

	out.Reset()
	for i := range 10_000 { // the messages differ, like net/http errors with the client's address
		write(handler, fmt.Sprintf("handshake with %d failed", i))
	}
	require.Less(t, strings.Count(out.String(), "\n"), 100)
}
