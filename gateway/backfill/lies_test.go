package backfill

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/internal/coverage"
)

// A list with wrong data, or a provider that fails, leads to a readable error. Nothing is stored,
// and the watermark does not move.
func TestListsThatLieMoveNothing(t *testing.T) {
	t.Parallel()
	say := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(out http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/deliveries") {
				return false
			}
			out.Header().Set("Content-Type", contentType)
			out.WriteHeader(status)
			_, _ = io.WriteString(out, body)
			return true
		}
	}
	now := time.Now().UTC()
	item := func(id string, at time.Time) string {
		return fmt.Sprintf(`{"id":%s,"guid":"g-%s","delivered_at":%q,"event":"push","action":null,"status":"failed"}`, id, id, at.Format(time.RFC3339Nano))
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		says   string
	}{
		"HTML":            {say(200, "text/html", "<html>Sign in</html>"), "not JSON (text/html)"},
		"cut JSON":        {say(200, "application/json", "["+item("1", now)+","), "not JSON"},
		"an object":       {say(200, "application/json", `{"message":"moved"}`), "has no list"},
		"ids as floats":   {say(200, "application/json", "["+item("9.007199254740993e15", now)+"]"), "not an identifier"},
		"no time":         {say(200, "application/json", `[{"id":1,"guid":"g","event":"push"}]`), "no time at /delivered_at"},
		"wrong order":     {say(200, "application/json", "["+item("1", now.Add(-3*time.Hour))+","+item("2", now)+"]"), "out of order"},
		"token refused":   {say(401, "application/json", `{}`), "token was refused"},
		"another account": {say(404, "application/json", `{}`), "another account"},
		"too few scopes": {func(out http.ResponseWriter, r *http.Request) bool {
			out.Header().Set("X-OAuth-Scopes", "gist, repo:status")
			return say(404, "application/json", `{}`)(out, r)
		}, "the token has the scopes gist, repo:status and needs: Webhooks: read and write, on the repository or organization"},
		"an error": {say(500, "application/json", `{}`), "answered 500"},
		"a redirect": {func(out http.ResponseWriter, r *http.Request) bool {
			http.Redirect(out, r, "http://127.0.0.1:1/", http.StatusFound)
			return true
		}, "answered 302"},
		"a page to nowhere": {func(out http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/deliveries") {
				out.Header().Set("Link", `<https://evil.example/steal>; rel="next"`)
			}
			return say(200, "application/json", "["+item("1", now.Add(time.Hour))+"]")(out, r)
		}, "links to https://evil.example"},
		"a circle": {func(out http.ResponseWriter, r *http.Request) bool {
			out.Header().Set("Link", `</repos/acme/shop/hooks/1/deliveries?cursor=1>; rel="next"`)
			return say(200, "application/json", "["+item("1", now.Add(time.Hour))+"]")(out, r)
		}, "repeats itself"},
		"an endpoint of others": {func(out http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/deliveries") {
				return false
			}
			_, _ = io.WriteString(out, `{"active":true,"config":{"url":"https://elsewhere.example/webhooks/github?token=hush"}}`)
			return true
		}, "does not send to this gateway: it sends to elsewhere.example/webhooks/github instead of"},
		"an endless page": {func(out http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/deliveries") {
				return false
			}
			chunk := strings.Repeat(" ", 1<<20)
			for range maxAnswer>>20 + 2 {
				if _, err := io.WriteString(out, chunk); err != nil {
					break
				}
			}
			return true
		}, "larger than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "github", "repos/acme/shop/hooks/1")
			w.happen(2, "push", never)
			before := w.state()
			w.refuse = c.answer
			run := w.turn()
			require.Contains(t, run.Error, c.says)
			require.NotContains(t, run.Error, "hush")
			after := w.state()
			require.Equal(t, before.CoveredUntil, after.CoveredUntil)
			require.Equal(t, run.Error, after.Error)
			require.Zero(t, w.stored("webhook")+w.stored("backfill"))
			w.refuse = nil
			w.turn()
			w.turn()
			require.Equal(t, 2, w.stored("webhook"), "the next passes continue once the list is correct")
		})
	}
}

// A provider's request for a pause is honoured, even by the next process.
func TestAPauseThatTheProviderWantsIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	w.refuse = func(out http.ResponseWriter, _ *http.Request) bool {
		out.Header().Set("Retry-After", "3600")
		out.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	reader := sdk.NewManualReader()
	var err error
	w.backfill.meters, err = newMeters(sdk.NewMeterProvider(sdk.WithReader(reader)))
	require.NoError(t, err)
	run := w.turn()
	require.Contains(t, run.Error, "asked for a pause of 1h0m0s")
	var told metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &told))
	for _, m := range told.ScopeMetrics[0].Metrics {
		if m.Name == "hooklatch.backfill.throttled" {
			require.InDelta(t, 3600, m.Data.(metricdata.Sum[float64]).DataPoints[0].Value, 1)
			reader = nil
		}
	}
	require.Nil(t, reader, "the metric counts the pause")
	asked := len(w.requests)
	w.refuse = nil
	require.NoError(t, w.outbox.Coverage().Hurry(t.Context(), []identitySource{"github"}))
	again, err := New(w.backfill.opts)
	require.NoError(t, err)
	require.NoError(t, again.Turn(t.Context()))
	require.Len(t, w.requests, asked, "no request during the pause")
	_, err = again.Run(t.Context(), "github", Order{By: "ann"})
	require.ErrorContains(t, err, "asked for a pause", "the operator who requests a pass sees the reason")
	_, err = again.Run(t.Context(), "github", Order{By: "ann", DryRun: true})
	require.ErrorContains(t, err, "asked for a pause")
	require.Len(t, w.requests, asked)
}

// The pause applies to all lists that the process reads with the same token.
func TestAPauseIsThatOfTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Accounts = []string{"acct_1", "acct_2"}
	w.refuse = func(out http.ResponseWriter, _ *http.Request) bool {
		out.Header().Set("Retry-After", "3600")
		out.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	w.requests = nil
	w.turn()
	require.Len(t, w.requests, 1)
	require.EqualValues(t, 2, w.count("SELECT count(*) FROM hooklatch.coverage WHERE retry_after > now() + interval '59 minutes' AND source = $1"))
}

// A pass over a period whose event keys are no longer remembered is refused, because it would
// accept events again.
func TestNothingIsFetchedThatIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Remembered = 10 * time.Minute
	w.happen(3, "invoice.paid", never)
	_, err := w.backfill.Run(t.Context(), "stripe", Order{By: "ann", Since: time.Now().Add(-time.Hour)})
	require.ErrorContains(t, err, "are kept for 10m0s")
	require.Zero(t, w.stored("backfill"))
}

// A disabled endpoint must be reported to the operator.
func TestAnEndpointThatIsOffIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github", "repos/acme/shop/hooks/1")
	require.Equal(t, coverage.EndpointOn, w.state().Endpoint)
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/deliveries") {
			return false
		}
		_, _ = fmt.Fprintf(out, `{"active":false,"config":{"url":%q},"last_response":{"message":"timed out"}}`, w.source.URL)
		return true
	}
	w.turn()
	off := w.state()
	require.Equal(t, coverage.EndpointOff, off.Endpoint)
	require.Equal(t, "active: false (timed out). A user switched the webhook off: see Active in its settings.", off.EndpointWhy)
	w.turn()
	require.Equal(t, off.EndpointAt, w.state().EndpointAt, "the time at which the endpoint was found off stays")
}

// A dry run reports what is missing and writes nothing.
func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.happen(30, "invoice.paid", mostly)
	before := w.state()
	missing := 0
	runs, err := w.backfill.Run(t.Context(), "stripe", Order{DryRun: true, Since: time.Now().Add(-time.Hour), Met: func(_ Item, fate Fate) {
		if fate == FateMissing {
			missing++
		}
	}})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.EqualValues(t, 3, runs[0].Missing)
	require.Equal(t, 3, missing)
	after := w.state()
	before.Now, after.Now = time.Time{}, time.Time{}
	require.Equal(t, before, after)
	require.Zero(t, w.stored("backfill"))
}
