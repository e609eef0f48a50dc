package cli

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

func TestNoMailAddressIsLogged(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"jenny.rosen@example.com":                          "***@example.com",
		"order-7:jenny+shop@mail.example.co.uk:paid":       "order-7:***@mail.example.co.uk:paid",
		"delivered/jenny.rosen%40example.com":              "delivered/***%40example.com",
		"stripe/a@b.example: handler of *: c@d.example":    "stripe/***@b.example: handler of *: ***@d.example",
		"<20130503182626.18666.16540@sandbox.mailgun.org>": "<***@sandbox.mailgun.org>",
		"evt_1":                          "evt_1",
		"github.com/jackc/pgx/v5@v5.7.1": "github.com/jackc/pgx/v5@v5.7.1",
		"user@host":                      "user@host",
	} {
		require.Equal(t, want, withoutAddresses(given))
	}
	for _, format := range []string{"text", "json"} {
		var stderr strings.Builder
		logger, err := (&cli{Process: &Process{Stderr: &stderr}, logFormat: format}).logger(slog.LevelInfo)
		require.NoError(t, err)
		logger.With(slog.String(logkey.EventID, "canary@example.com")).Info("event accepted",
			slog.Any(logkey.Err, errors.New("no mailbox canary@example.com")), slog.Duration("took", time.Second))
		require.NotContains(t, stderr.String(), "canary")
		require.Contains(t, stderr.String(), "***@example.com")
		require.Contains(t, stderr.String(), "took")
	}
}
