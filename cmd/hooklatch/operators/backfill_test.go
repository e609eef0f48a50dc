package operators

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// octocat is a sender like GitHub: it delivers once, never retries, and lists its
// deliveries.
type octocat struct {
	*testing.T

	provider *provider.Provider
	api      *httptest.Server

	mu         sync.Mutex
	gateway    string // URL of the gateway; empty while no gateway is running
	deliveries []octocatDelivery
}

type octocatDelivery struct {
	guid string
	at   time.Time
	ok   bool
}

const octocatSecret = "a_secret_of_the_test_0123456789"

func newOctocat(t *testing.T) *octocat {
	t.Helper()
	p, err := catalog.New("github", provider.Options{})
	require.NoError(t, err)
	o := &octocat{T: t, provider: p}
	o.api = httptest.NewServer(o)
	t.Cleanup(o.api.Close)
	return o
}

// happen creates an event in the past and delivers it once.
func (o *octocat) happen(ago time.Duration) {
	o.mu.Lock()
	d := octocatDelivery{guid: fmt.Sprintf("00000000-0000-4000-8000-%012d", len(o.deliveries)+1), at: time.Now().Add(-ago)}
	o.deliveries = append(o.deliveries, d)
	n := len(o.deliveries) - 1
	o.mu.Unlock()
	o.deliver(n)
}

func (o *octocat) deliver(n int) {
	o.mu.Lock()
	d, gateway := o.deliveries[n], o.gateway
	o.mu.Unlock()
	if gateway == "" {
		return
	}
	request := o.provider.Sample("push", d.guid, d.at)
	if err := o.provider.Sign(request, secret.New(octocatSecret), time.Now()); err != nil {
		o.Error(err)
		return
	}
	r, err := http.NewRequestWithContext(o.Context(), http.MethodPost, gateway+"/webhooks/github", strings.NewReader(string(request.Body)))
	if err != nil {
		o.Error(err)
		return
	}
	r.Header = request.Header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	_ = answer.Body.Close()
	o.mu.Lock()
	o.deliveries[n].ok = answer.StatusCode == http.StatusOK
	o.mu.Unlock()
}

func (o *octocat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ours := strings.CutPrefix(r.URL.Path, "/repos/acme/shop/hooks/1")
	var n int
	switch {
	case !ours || r.Header.Get("Authorization") != "Bearer the_token":
		w.WriteHeader(http.StatusNotFound)
	case path == "":
		_, _ = io.WriteString(w, `{"active":true,"config":{},"last_response":{"message":"OK"}}`)
	case path == "/deliveries":
		o.mu.Lock()
		items := []map[string]any{}
		for i, d := range slices.Backward(o.deliveries) {
			status := "failed to connect to host"
			if d.ok {
				status = "OK"
			}
			items = append(items, map[string]any{"id": i, "guid": d.guid, "delivered_at": d.at.UTC().Format(time.RFC3339Nano), "event": "push", "action": nil, "status": status})
		}
		o.mu.Unlock()
		_ = json.NewEncoder(w).Encode(items)
	case strings.HasSuffix(path, "/attempts"):
		if _, err := fmt.Sscanf(path, "/deliveries/%d/attempts", &n); err == nil {
			o.deliver(n)
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		if _, err := fmt.Sscanf(path, "/deliveries/%d", &n); err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		o.mu.Lock()
		d := o.deliveries[n]
		o.mu.Unlock()
		sample := o.provider.Sample("push", d.guid, d.at)
		headers := map[string]string{}
		for name := range sample.Header {
			headers[name] = sample.Header.Get(name)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"request": map[string]any{"headers": headers, "payload": json.RawMessage(sample.Body)}})
	}
}

func (o *octocat) yaml(d *cli.DevSettings) string {
	return fmt.Sprintf(`
database: {url: %q, allow: [fsync_off]}
gateway: {listen: "127.0.0.1:0"}
admin: {listen: "localhost:0"}
sources:
  github:
    provider: github
    secrets: [%s]
    backfill: {token: the_token, endpoint: repos/acme/shop/hooks/1, base_url: %q, every: 1s, lag: 1ms, rate: 100/s}
destinations:
  app: {http: {url: "http://%s/receiver"}}
routes:
  - {name: all, from: github, to: app}
`, d.Database.Reveal(), octocatSecret, o.api.URL, d.Receiver)
}

// Without --yes nothing is written. With --yes, missing events are fetched.
func TestAPersonComparesASourceWithItsList(t *testing.T) {
	t.Parallel()
	o := newOctocat(t)
	s := clitest.NewSystem(t, clitest.SystemOptions{YAML: o.yaml, NoWorker: true})
	o.gateway = s.URL
	o.happen(3 * time.Hour)
	o.gateway = ""
	o.happen(2 * time.Hour)
	o.happen(time.Minute)

	written := func() int {
		return s.Count(t, `SELECT (SELECT count(*) FROM hooklatch.coverage) + (SELECT count(*) FROM hooklatch.backfill_runs)
			+ (SELECT count(*) FROM hooklatch.redeliveries) + (SELECT count(*) FROM hooklatch.processed_events)`)
	}
	require.Equal(t, 1, written())
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("backfill", "github", "--since", "6h", "--dry-run", "--json")...), c.Stderr.String())
	var view cli.BackfillView
	require.NoError(t, json.Unmarshal([]byte(c.Stdout.String()), &view))
	require.Len(t, view.Runs, 1)
	require.Equal(t, []int64{3, 1, 2, 0}, []int64{view.Runs[0].Listed, view.Runs[0].Known, view.Runs[0].Missing, view.Runs[0].Recovered})
	require.NotEmpty(t, view.Found)
	shown := clitest.Must(t, s.Args("backfill", "github", "--since", "6h")...)
	require.Contains(t, shown, "2 events missing; no events were fetched. Fetch them with the same command and --yes")
	require.Contains(t, clitest.Must(t, s.Args("backfill", "github", "--since", "30m")...), "1 event missing")
	require.Contains(t, clitest.Must(t, s.Args("backfill", "github", "--since", "6h", "--types", "issues.*")...), "0 events missing")
	require.Equal(t, 1, written(), "nothing was written")

	fetched := clitest.Must(t, s.Args("backfill", "github", "--since", "6h", "--via", "pull", "--yes", "--as", "ann")...)
	require.Regexp(t, `(?m)^.*\bann\b.*\bbackfill\.run\b.*\bgithub\b`, clitest.Must(t, s.Args("audit")...), "it caused real effects")
	require.Contains(t, fetched, "RECOVERED")
	require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE origin = 'backfill'`))
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.backfill_runs WHERE requested_by = 'ann' AND recovered = 2 AND mode = 'ordered'`))
	require.Zero(t, c.Run(t.Context(), s.Args("backfill", "github", "--since", "6h", "--dry-run")...))
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "github", o.deliveries[1].guid)...), "fetched from the provider's list")

	var lists cli.ListsView
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("backfill", "status", "--json")...)), &lists))
	require.Len(t, lists.Lists, 1)
	at := slices.IndexFunc(lists.Passes, func(r coverage.Run) bool { return r.RequestedBy == "ann" })
	require.EqualValues(t, 2, lists.Passes[at].Recovered)
	require.Regexp(t, `(?m)github +- +ann +ordered .* complete$`, clitest.Must(t, s.Args("backfill", "status")...))

	for _, wrong := range [][]string{
		{"backfill", "github", "--dry-run", "--yes"}, {"backfill", "github", "--via", "magic"}, {"backfill", "github", "--since", "yesterday"},
		{"backfill", "stripe"},
	} {
		var c clitest.Command
		require.NotZero(t, c.Run(t.Context(), s.Args(wrong...)...), wrong)
		require.NotEmpty(t, c.Stderr.String(), wrong)
	}
}

// A sender that never retries delivers while the gateway is down and the worker is running. When
// the gateway starts, the worker requests redeliveries without any operator action, and status
// reports their number.
func TestWhatAnAbsentGatewayMissedComesByItself(t *testing.T) {
	t.Parallel()
	o := newOctocat(t)
	worker := clitest.NewSystem(t, clitest.SystemOptions{YAML: o.yaml, NoGateway: true})
	require.Eventually(t, func() bool {
		return worker.Counts(t, 1, `SELECT count(*) FROM hooklatch.coverage WHERE last_ok_at IS NOT NULL`)
	}, clitest.Patience, 100*time.Millisecond, "the list begins")
	for range 40 {
		o.happen(0)
	}
	func() {
		o.mu.Lock() // the sender answers no request before it knows the gateway
		defer o.mu.Unlock()
		o.gateway = clitest.NewSystem(t, clitest.SystemOptions{YAML: o.yaml, NoWorker: true, Pool: worker.Pool}).URL
	}()
	require.Eventually(t, func() bool {
		return worker.Counts(t, 40, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'github' AND origin = 'webhook'`)
	}, clitest.Patience, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		return worker.Counts(t, 40, `SELECT sum(recovered) FROM hooklatch.backfill_runs`)
	}, clitest.Patience, 100*time.Millisecond)
	require.Equal(t, 40, worker.Count(t, `SELECT sum(tries) FROM hooklatch.redeliveries`), "each redelivery is requested once, and the next pass finds it")
	var c clitest.Command
	_ = c.Run(t.Context(), worker.Args("status")...)
	require.Contains(t, c.Stdout.String(), "40 events of github were not delivered by a webhook but are in the provider's list; the oldest occurred")
	require.Contains(t, c.Stdout.String(), worker.Printed("hooklatch backfill status"))
}
