package backfill

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// inMemory responds to requests without a network, because virtual time does not advance while a
// goroutine waits for a network.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	m.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// Two sources with one credential share its rate, without a burst: in virtual time, no second
// has more requests than the rate allows.
func TestNoSecondHasMoreRequestsThanTheRate(t *testing.T) {
	t.Parallel()
	const most = 5
	list := listings()["stripe"]
	p, err := catalog.New("stripe", provider.Options{})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, provider: p, perPage: 10, now: time.Now()}
		for range 300 {
			w.event(list.eventType, time.Millisecond, false)
		}
		settings := Settings{Token: secret.New("token-of-the-tests"), Endpoint: list.endpoint, BaseURL: "http://127.0.0.1", Rate: most}.WithDefaults(p.List)
		b, err := New(Options{Outbox: new(outbox.Outbox), Sources: func() []Source { return nil }})
		require.NoError(t, err)
		shared, err := b.clients.of(settings)
		require.NoError(t, err)
		shared.http.Transport = inMemory{http.HandlerFunc(w.answer)}
		var passes sync.WaitGroup
		for range 2 {
			c, err := b.clients.of(settings)
			require.NoError(t, err)
			one := pass{b: b, source: Source{Name: "stripe", Provider: p, Settings: settings}, list: p.List, client: c, row: &coverage.Pass{Now: time.Now()}, run: &coverage.Run{}}
			passes.Go(func() {
				items, err := one.slice(t.Context(), w.now.Add(-time.Hour), w.now.Add(time.Hour))
				if err != nil || len(items) != 300 {
					t.Errorf("read %d items: %v", len(items), err)
				}
			})
		}
		passes.Wait()
		require.Len(t, w.requests, 60)
		for i := most; i < len(w.requests); i++ {
			require.GreaterOrEqual(t, w.requests[i].Sub(w.requests[i-most]), time.Second, "request %d", i)
		}
	})
}

// All requests of a pass keep to the rate, whatever their purpose. A busy machine only
// delays them.
func TestAllRequestsOfAPassKeepToTheRate(t *testing.T) {
	t.Parallel()
	const rate = 40
	for name, via := range map[string]Via{"redeliver": ViaRedeliver, "pull": ViaPull} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := listings()["github"]
			w := newWorld(t, "github", list.endpoint)
			w.perPage = 5
			w.source.Settings.Rate, w.source.Settings.Via = rate, via
			w.happen(30, list.eventType, never)
			w.requests = nil
			began := time.Now()
			require.Empty(t, w.turn().Error)
			require.Len(t, w.requests, 1+6+30, "one request for the endpoint, 6 for pages, 30 for events")
			for i, at := range w.requests {
				require.GreaterOrEqual(t, at.Sub(began), time.Duration(i)*time.Second/rate, "request %d", i)
			}
		})
	}
}
