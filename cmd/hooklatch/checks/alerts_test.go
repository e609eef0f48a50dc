package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// alertsAfter is the required maximum time from a problem to its notification. Only the long form
// of the test, on a quiet machine, requires it.
const alertsAfter = 2 * time.Minute

// channel is a receiver of chat messages.
type channel struct {
	*httptest.Server

	mu    sync.Mutex
	texts []string
}

func newChannel(t *testing.T) *channel {
	t.Helper()
	c := &channel{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message struct{ Text string }
		if err != nil || json.Unmarshal(body, &message) != nil || message.Text == "" {
			w.WriteHeader(http.StatusBadRequest) // Slack answers an unreadable message with this status
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.texts = append(c.texts, message.Text)
	}))
	t.Cleanup(c.Close)
	return c
}

// with returns the messages that contain a text.
func (c *channel) with(text string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []string
	for _, one := range c.texts {
		if strings.Contains(one, text) {
			found = append(found, one)
		}
	}
	return found
}

// alertsYAML returns a configuration that sends alerts by email, and to a chat if the email fails.
func alertsYAML(smtp, chat string) string {
	return fmt.Sprintf(`
admin: {listen: "localhost:0"}
gateway: {listen: "127.0.0.1:0"}
destinations:
  app: {http: {url: "http://127.0.0.1:9/"}, retry: {max_attempts: 1}, breaker: {off: true}}
  mail: {smtp: {host: 127.0.0.1, port: %s, from: hooklatch@example.com, tls: none}, rate: 1/h}
  chat: {http: {url: %q}}
alerts:
  to: [{destination: mail, recipient: ops@example.com}, {destination: chat, format: slack}]
  for: 1s
`, portIn(smtp), chat)
}

func portIn(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// park creates a parked effect.
const park = `
	INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at)
	VALUES ('s', 'parked', 'hl_parked', 'app', 'dst_app', 'at_most_once', 'parked', 0, now())`

// Two workers send one alert only once, by email. The email does not wait behind 100,000 effects of
// the same destination, whose rate is one per hour. When the alert resolves, the workers send a
// second email.
func TestPeopleAreToldByMail(t *testing.T) {
	t.Parallel()
	chat := newChannel(t)
	s := clitest.NewSystem(t, clitest.SystemOptions{NoGateway: true, YAML: func(d *cli.DevSettings) string {
		return databaseYAML(d) + alertsYAML(d.SMTP, chat.URL)
	}})
	second, err := app.New(t.Context(), app.Options{Config: s.Config, Worker: true, Version: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = second.Stop(context.Background()) })
	require.NoError(t, second.Start(t.Context()))
	_, err = s.Pool.Exec(t.Context(), `
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, next_attempt_at)
		SELECT 's', 'mail' || i, 'hl_mail' || i, 'mail', 'dst_mail', 'at_least_once', 'pending', now()
		FROM generate_series(1, 100000) AS i`)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), park)
	require.NoError(t, err)
	began := time.Now()
	told := func() []string {
		var subjects []string
		for _, one := range s.Mail.Seen() {
			if strings.Contains(one.Subject, "effects_parked") {
				require.Equal(t, []string{"ops@example.com"}, one.To)
				subjects = append(subjects, one.Subject)
			}
		}
		return subjects
	}
	require.Eventually(t, func() bool { return len(told()) > 0 }, alertsAfter+clitest.Patience, clitest.Tick)
	took := time.Since(began)
	t.Logf("notified after %.1f s", took.Seconds())
	require.False(t, os.Getenv("HOOKLATCH_LONG") != "" && took > alertsAfter)
	require.Equal(t, []string{"[hooklatch] 1 effect to app is parked: retry or cancel (effects_parked)"}, told())
	require.Contains(t, clitest.Must(t, "alerts", "list", "--config", s.ConfigPath), "effects_parked")

	_, err = s.Pool.Exec(t.Context(), `DELETE FROM hooklatch.effects WHERE state = 'parked'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(told()) > 1 }, alertsAfter+clitest.Patience, clitest.Tick)
	require.Equal(t, []string{"[hooklatch] 1 effect to app is parked: retry or cancel (effects_parked)", "[hooklatch] resolved: 1 effect to app is parked: retry or cancel (effects_parked)"}, told())
	require.Empty(t, chat.with("effects_parked"), "the email arrived, so nothing was sent to the chat")
}

// If an email fails, the next destination gets the message.
func TestTheNextOneIsToldWhenTheFirstIsDown(t *testing.T) {
	t.Parallel()
	chat := newChannel(t)
	s := clitest.NewSystem(t, clitest.SystemOptions{NoGateway: true, YAML: func(d *cli.DevSettings) string {
		return databaseYAML(d) + alertsYAML("127.0.0.1:9", chat.URL) // the discard port, on which no server listens
	}})
	_, err := s.Pool.Exec(t.Context(), park)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(chat.with("effects_parked")) > 0 }, alertsAfter+clitest.Patience, clitest.Tick)
	message := chat.with("effects_parked")[0]
	require.Contains(t, message, "1 effect to app is parked")
	require.Contains(t, message, "hooklatch effects list --state parked --destination app")
	require.Contains(t, message, "monitoring.md#effects_parked|what to do>")
}

// A mute is listed until it ends, and stays in the operator log.
func TestAMuteIsListed(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{NoWorker: true})
	require.Equal(t, "no alerts\n", clitest.Must(t, "alerts", "list", "--config", s.ConfigPath))
	require.Equal(t, "breaker_open is muted for 2 h 0 min\n",
		clitest.Must(t, "alerts", "mute", "breaker_open", "--for", "2h", "--reason", "they deploy", "--config", s.ConfigPath))
	require.Regexp(t, `(?m)^breaker_open +- +- +- +- +20\S+ \S+ +-$`, clitest.Must(t, "alerts", "list", "--config", s.ConfigPath))
	require.Regexp(t, `alert\.mute +breaker_open.*they deploy`, clitest.Must(t, "audit", "--config", s.ConfigPath))
	require.Equal(t, "breaker_open is no longer muted\n", clitest.Must(t, "alerts", "mute", "breaker_open", "--for", "0s", "--config", s.ConfigPath))
	require.Equal(t, "no alerts\n", clitest.Must(t, "alerts", "list", "--config", s.ConfigPath))
	var misspelt clitest.Command
	require.Equal(t, 2, misspelt.Run(t.Context(), "alerts", "mute", "breaker", "--config", s.ConfigPath))
	require.Contains(t, misspelt.Stderr.String(), "breaker_open")
}

// databaseYAML returns the test's database setting.
func databaseYAML(d *cli.DevSettings) string {
	return fmt.Sprintf("database: {url: %q, allow: [%s]}\n", d.Database.Reveal(), config.AllowFsyncOff)
}
