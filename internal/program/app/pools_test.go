package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

const twoBooks = `
destinations:
  books: {sql: {statements: {credit: "SELECT 1"}}, concurrency: 6}
  ledger: {sql: {statements: {debit: "SELECT 1"}}, concurrency: 4}
  app: {http: {url: "http://127.0.0.1:9/"}, concurrency: 500}
`

func TestMaxConnsMustLeaveRoomForWhatHoldsAConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ yaml, problem, warning string }{
		"computed":            {yaml: twoBooks},
		"enough":              {yaml: "database: {max_conns: 35}" + twoBooks},
		"enough for a worker": {yaml: "database: {max_conns: 34}" + twoBooks, warning: "`hooklatch serve` needs 35 connections: 8 to accept, 1 for the quarantine, 4 for the console and other reads, and 22 for the worker (10 for sql destinations, 0 for handlers, 12 for the rest); set max_conns: 35"},
		"too few":             {yaml: "database: {max_conns: 25}" + twoBooks, problem: "hooklatch.yaml:1: database.max_conns: 25 is too few: `hooklatch worker` needs 26 connections: 4 for the console and other reads, and 22 for the worker"},
		"handlers count where a source has them": {
			yaml:    "database: {max_conns: 30}\nworker: {handler_workers: 20}\nsources: {stripe: {provider: stripe, secrets: [whsec_0123456789abcdef], handlers: true}}",
			problem: "needs 36 connections: 4 for the console and other reads, and 32 for the worker (0 for sql destinations, 20 for handlers, 12 for the rest)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("hooklatch.yaml", []byte(c.yaml), func(string) (string, bool) { return "", false })
			require.NoError(t, err)
			problem, warning := app.CheckConns(cfg)
			requireText(t, c.problem, problem)
			requireText(t, c.warning, warning)
			if c.problem != "" {
				_, err := app.New(t.Context(), app.Options{Config: cfg, Worker: true})
				requireText(t, c.problem, err)
			}
		})
	}
}

func requireText(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, want)
}
