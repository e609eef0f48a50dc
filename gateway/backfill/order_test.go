package backfill

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// pad adds a number of bytes to the body of each event.
func (w *world) pad(events []*happened, bytes int) {
	w.t.Helper()
	for _, h := range events {
		var err error
		h.webhook.Body, err = sjson.SetBytes(h.webhook.Body, "padding", strings.Repeat("x", bytes))
		require.NoError(w.t, err)
	}
}

// An operator's pass reads its whole period, however many events are missing.
func TestAnOrderReadsMoreThanAPassHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gitlab", "projects/7/hooks/1")
	const events = 6 * 20 // 6 pages
	w.pad(w.happen(events, "push", never), maxBytes*6/5/events)
	runs, err := w.backfill.Run(t.Context(), "gitlab", Order{By: "ann", Since: time.Now().Add(-time.Hour), DryRun: true})
	require.NoError(t, err)
	require.EqualValues(t, events, runs[0].Missing)
	runs, err = w.backfill.Run(t.Context(), "gitlab", Order{By: "ann", Since: time.Now().Add(-time.Hour)})
	require.NoError(t, err)
	require.EqualValues(t, events, runs[0].Recovered)
	require.Equal(t, events, w.stored("backfill"))
}

// own replaces the source's list with a list that the API serves at /own, newest first.
func (w *world) own(list OwnList, page func(r *http.Request) any) {
	w.t.Helper()
	list.URL, list.Items, list.Time = w.api.URL+list.URL, "/data", "/created"
	w.source.Settings = Settings{Token: w.source.Settings.Token, Rate: 1000, Lag: time.Millisecond, Every: time.Millisecond, Own: &list}.WithDefaults(nil)
	require.NoError(w.t, w.source.Settings.Validate(0))
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		_ = json.NewEncoder(out).Encode(page(r))
		return true
	}
}

// If the page that exceeds a pass's limits is the last page of the list, the watermark moves. If it
// did not move, each pass would read the page again.
func TestTheLastPageMayBeLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.own(OwnList{URL: "/own"}, func(*http.Request) any {
		data := []json.RawMessage{}
		for _, h := range slices.Backward(w.events) {
			data = append(data, h.webhook.Body)
		}
		return map[string]any{"data": data}
	})
	const events = 100
	w.pad(w.happen(events, "invoice.paid", never), maxBytes*6/5/events)
	run := w.turn()
	require.Empty(t, run.Error)
	require.EqualValues(t, events, run.Recovered)
	require.True(t, w.state().CoveredUntil.After(w.now))
}

// If each page of a list begins after a given item, the next turn continues after the last item
// that was read.
func TestAWalkContinuesAfterTheLastItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.own(OwnList{URL: "/own?after={last}", Ref: "/id", Next: "/more"}, func(r *http.Request) any {
		data, after, found := []json.RawMessage{}, r.URL.Query().Get("after"), false
		for _, h := range slices.Backward(w.events) {
			switch {
			case after != "" && !found:
				found = h.id == after
			case len(data) == 5:
				return map[string]any{"data": data, "more": true}
			default:
				data = append(data, h.webhook.Body)
			}
		}
		return map[string]any{"data": data, "more": false}
	})
	const events = 60 * 5 // 60 pages
	w.happen(events, "invoice.paid", never)
	w.backfill.opts.Budget, w.source.Settings.Rate = 5*time.Second, 8
	require.Eventually(t, func() bool {
		w.turn()
		return w.stored("backfill") == events
	}, 10*time.Minute, time.Millisecond)
}

// An operator's pass reads the newest events too, wherever an automatic pass was interrupted.
func TestAnOrderBeginsWithTheNewestEvent(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]Order{"everything": {By: "ann"}, "a period": {By: "ann", Since: time.Now().Add(-time.Hour)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "github", "repos/acme/shop/hooks/1")
			w.source.Settings.Via = ViaPull
			events := w.happen(3, "push", never)
			_, err := w.pool.Exec(t.Context(), `UPDATE hooklatch.coverage SET pass_until = $1, page_token = $2`,
				events[1].at, w.api.URL+"/repos/acme/shop/hooks/1/deliveries?per_page=100&cursor=1\n9007199254740994")
			require.NoError(t, err)
			runs, err := w.backfill.Run(t.Context(), "github", order)
			require.NoError(t, err)
			require.EqualValues(t, len(events), runs[0].Recovered)
		})
	}
}

// A pass over a part of the list does not count as the daily pass over the complete window.
func TestAnOrderForAPartIsNoDeepPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Deep = time.Nanosecond
	last := func() (at time.Time) {
		require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT deep_until FROM hooklatch.coverage").Scan(&at))
		return at
	}
	before := last()
	for _, order := range []Order{{By: "ann", Types: []string{"invoice.paid"}}, {By: "ann", Until: time.Now().Add(-time.Minute)}, {By: "ann", Limit: 10}} {
		_, err := w.backfill.Run(t.Context(), "stripe", order)
		require.NoError(t, err)
		require.Equal(t, before, last())
	}
	_, err := w.backfill.Run(t.Context(), "stripe", Order{By: "ann"})
	require.NoError(t, err)
	require.True(t, last().After(before))
}

// An App's token expires during a long pass, so each request has a new one.
func TestAnAppsTokenIsValidInALongPass(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	began := time.Now().Add(-time.Hour)
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	w := newWorld(t, "github", "app")
	w.source.Settings.App, w.source.Settings.Token = "123", secret.New(string(text))
	p := pass{source: w.source, list: w.source.Settings.List, row: &coverage.Pass{Now: began}, began: began}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.api.URL, http.NoBody)
	require.NoError(t, err)
	require.NoError(t, p.authorize(request))
	_, err = jwt.Parse(strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "), func(*jwt.Token) (any, error) { return &key.PublicKey, nil })
	require.NoError(t, err)
}
