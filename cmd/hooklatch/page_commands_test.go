package main

import (
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// offered returns the commands on a page, without the program's name and except those with --edit,
// and the paths of the verbs that the page offers.
func offered(t *testing.T, s *system, path string) (commands, verbs []string) {
	t.Helper()
	status, _, text := s.ask(t, http.MethodGet, path, "")
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
	s := newSystem(t, systemOptions{})
	send := func(id string) {
		must(t, s.args("send", "github", "--id", id)...)
		s.waitDone(t, "github", id)
	}
	imported := filepath.Join(t.TempDir(), "keys.csv")
	require.NoError(t, os.WriteFile(imported, []byte("imported,2026-11-21T08:00:00Z\n"), 0o600))
	must(t, s.args("import", "keys", "github", imported, "--yes")...)
	for _, id := range []string{"dispatched", "skipped", "failed", "held", "dropped", "erased", "redacted"} {
		send(id)
	}
	must(t, s.args("events", "erase", "github", "erased", "--yes")...)
	_, err := s.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET redacted_at = now() WHERE event_id = 'redacted'`)
	require.NoError(t, err)
	for _, id := range []string{"dispatched", "skipped", "failed", "held", "dropped", "erased", "redacted", "imported"} {
		reset := func() {
			if id == "erased" || id == "redacted" || id == "imported" {
				return
			}
			require.Eventually(t, func() bool {
				return s.counts(t, 0, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`)
			}, patience, tick)
			_, err := s.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = $1::text WHERE event_id = $1::text`, id)
			require.NoError(t, err)
		}
		reset()
		commands, verbs := offered(t, s, "/events/github/"+id)
		require.NotEmpty(t, commands)
		for _, path := range verbs {
			if strings.HasSuffix(path, "/raw") {
				status, _, _ := s.ask(t, http.MethodGet, path, "")
				require.Equal(t, http.StatusOK, status, path)
			}
		}
		for _, words := range commands {
			reset()
			var c command
			require.Zero(t, c.run(t.Context(), s.args(shellWords(t, words)...)...), "%s: %s: %s", id, words, c.stderr.String())
		}
		replays := strings.Contains(strings.Join(verbs, " "), "/replay")
		require.Equal(t, id == "dispatched" || id == "skipped" || id == "failed", replays, "%s: %v", id, verbs)
	}

	var key string
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT idempotency_key FROM hooklatch.effects WHERE event_id = 'erased'`).Scan(&key))
	commands, verbs := offered(t, s, "/effects/"+key)
	for _, words := range commands {
		must(t, s.args(shellWords(t, words)...)...)
	}
	require.NotContains(t, strings.Join(verbs, " "), "/resend", "the request was erased")
}
