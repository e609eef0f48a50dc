package operators

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// The command events show prints the sender's retry information and whether the signature was
// reused.
func TestEventsShowTellsOfRetriesAndReplays(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "slack", "--id", "Ev1", "--header", "X-Slack-Retry-Num=2", "--header", "X-Slack-Retry-Reason=http_timeout")...)
	clitest.Must(t, s.Args("send", "slack", "--id", "Ev2")...)
	text := clitest.Must(t, s.Args("events", "show", "slack", "Ev1")...)
	require.Contains(t, text, "retry         number 2 according to the sender, http_timeout\n")
	require.NotContains(t, text, "suspect")
	require.NotContains(t, clitest.Must(t, s.Args("events", "show", "slack", "Ev2")...), "retry  ")

	body := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(body, []byte(`{"zen":"Keep it logically awesome."}`), 0o600))
	for _, id := range []string{"one", "two"} {
		clitest.Must(t, s.Args("send", "github", body, "--id", id)...)
	}
	require.NotContains(t, clitest.Must(t, s.Args("events", "show", "github", "one")...), "suspect")
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", "two")...), "suspect       its signature was used before under another id")

	var shown inbox.Event
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("events", "show", "github", "two", "--json")...)), &shown))
	require.True(t, shown.ReplaySuspect)
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("events", "show", "slack", "Ev1", "--json")...)), &shown))
	require.Equal(t, 2, shown.RetryNumber)
	require.Equal(t, "http_timeout", shown.RetryReason)
}
