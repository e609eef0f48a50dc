package main_test

import (
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

// offered returns the commands on a page, and the paths of the verbs that the page offers. The
// commands lack the program's name. Commands with --edit are left out.
func offered(t *testing.T, s *clitest.System, path string) (commands, verbs []string) {
	t.Helper()
	status, _, text := s.Ask(t, http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, status, path)
	for _, one := range regexp.MustCompile(`(?s)<(?:pre id="command-[^>]*|code class="command")>(.*?)</`).FindAllStringSubmatch(text, -1) {
		if words, ours := strings.CutPrefix(html.UnescapeString(one[1]), "hooklatch "); ours && !strings.Contains(words, " --edit ") {
			commands = append(commands, words)
		}
	}
	for _, one := range regexp.MustCompile(`href="(`+regexp.QuoteMeta(path)+`/[a-z]+)"`).FindAllStringSubmatch(text, -1) {
		verbs = append(verbs, one[1])
	}
	return commands, verbs
}

// The page of an event or effect prints and offers only what can be done in its state.
func TestPagesOfferWhatCanBeDone(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	send := func(id string) {
		clitest.Must(t, s.Args("send", "github", "--id", id)...)
		s.WaitDone(t, "github", id)
	}
	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("imported,"+time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600))
	clitest.Must(t, s.Args("import", "keys", "github", imported, "--yes")...)
	for _, id := range []string{"dispatched", "skipped", "failed", "held", "dropped", "erased", "redacted"} {
		send(id)
	}
	clitest.Must(t, s.Args("events", "erase", "github", "erased", "--yes")...)
	_, err := s.Pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET redacted_at = now() WHERE event_id = 'redacted'`)
	require.NoError(t, err)
	for _, id := range []string{"dispatched", "skipped", "failed", "held", "dropped", "erased", "redacted", "imported"} {
		reset := func() {
			if id == "erased" || id == "redacted" || id == "imported" {
				return
			}
			require.Eventually(t, func() bool {
				return s.Counts(t, 0, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`)
			}, clitest.Patience, clitest.Tick)
			_, err := s.Pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = $1::text WHERE event_id = $1::text`, id)
			require.NoError(t, err)
		}
		reset()
		commands, verbs := offered(t, s, "/events/github/"+id)
		require.NotEmpty(t, commands)
		for _, path := range verbs {
			if strings.HasSuffix(path, "/raw") {
				status, _, _ := s.Ask(t, http.MethodGet, path, "")
				require.Equal(t, http.StatusOK, status, path)
			}
		}
		for _, words := range commands {
			reset()
			var c clitest.Command
			require.Zero(t, c.Run(t.Context(), s.Args(clitest.ShellWords(t, words)...)...), "%s: %s: %s", id, words, c.Stderr.String())
		}
		replays := strings.Contains(strings.Join(verbs, " "), "/replay")
		require.Equal(t, id == "dispatched" || id == "skipped" || id == "failed", replays, "%s: %v", id, verbs)
	}

	var key string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT idempotency_key FROM hooklatch.effects WHERE event_id = 'erased'`).Scan(&key))
	commands, verbs := offered(t, s, "/effects/"+key)
	for _, words := range commands {
		clitest.Must(t, s.Args(clitest.ShellWords(t, words)...)...)
	}
	require.NotContains(t, strings.Join(verbs, " "), "/resend", "the request was erased")
}
