package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

// A sample is rendered without a database.
func TestARouteIsTestedWithASample(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, "postgres://localhost:1/none")
	text := clitest.Must(t, "routes", "test", "stripe", "--type", "invoice.paid", "--id", "evt_1", "--config", path)
	require.Contains(t, text, "stripe/evt_1  invoice.paid\n  everything -> app, key evt_1\n    POST http")
	require.Contains(t, text, "\n  receipts -> mail, key in_")
	require.Contains(t, text, "  unanswered does not match: its types are charge.refunded, not invoice.paid\n")

	file := filepath.Join(t.TempDir(), "invoice.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"id": "evt_9", "object": "event", "type": "invoice.paid", "data": {"object": {"id": "in_9"}}}`), 0o600))
	text = clitest.Must(t, "routes", "test", "stripe", file, "--config", path)
	require.Contains(t, text, "stripe/evt_9  invoice.paid\n")
	require.Contains(t, text, "receipts does not match: the route's when is false")

	broken := edited(t, &clitest.System{ConfigPath: path}, "key: body.data.object.id", "key: body.data.object.ident")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "routes", "test", "stripe", "--type", "invoice.paid", "--config", broken, "--json"))
	var tested []cli.TestedEvent
	require.NoError(t, json.Unmarshal([]byte(c.Stdout.String()), &tested))
	require.Contains(t, tested[0].Effects[1].Parked, "no such key: ident")
	for says, args := range map[string][]string{
		`has no source "strip"`: {"strip"}, "find the events as Stripe": {"stripe", broken}, "no such file": {"stripe", "none.json"},
	} {
		c = clitest.Command{}
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), append([]string{"routes", "test", "--config", path}, args...)...), says)
		require.Contains(t, c.Stderr.String(), says)
	}
}
