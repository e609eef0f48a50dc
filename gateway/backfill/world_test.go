package backfill

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

type identitySource = identity.Source

const signingSecret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHMsIGxvbmcgZW5vdWdo"

// sendersAtOnce is the number of webhooks that a provider delivers simultaneously.
const sendersAtOnce = 8

// happened is one event at a provider, with its webhook.
type happened struct {
	id, eventType string
	number        int // the event's number at the provider, in the order in which events happened
	at            time.Time
	webhook       *provider.Request
	delivered     bool   // according to the list
	hidden        bool   // true while the list does not show the event
	account       string // the connected account that the event belongs to, at Stripe
}

// reporter is a test, or one check of a property.
type reporter interface {
	require.TestingT
	Helper()
	Context() context.Context
	Cleanup(f func())
}

// database is the database in which a world stores its events.
type database struct {
	pool   *pgxpool.Pool
	outbox *outbox.Outbox // the gateway's outbox
	passes *outbox.Outbox // the passes' outbox
}

// world is a provider with an API, and a gateway that receives its webhooks.
type world struct {
	database

	t        reporter
	provider *provider.Provider
	backfill *Backfill
	source   Source
	hooks    *httptest.Server
	api      *httptest.Server
	sender   *http.Client

	mu       sync.Mutex
	now      time.Time   // the provider's clock, far behind the real time
	events   []*happened // in the order in which they happened
	feed     []*happened // in the order in which they were listed
	perPage  int         // a list's page size; 0: the provider's own
	requests []time.Time
	refuse   func(w http.ResponseWriter, r *http.Request) bool // reports whether it responded instead of the API
	asked    map[string]int                                    // requested redeliveries, by event
}

func newWorld(t *testing.T, name, endpoint string) *world {
	t.Helper()
	pool := pgtest.New(t)
	o := newOutbox(t, pool)
	return newWorldOn(t, database{pool: pool, outbox: o, passes: o}, name, name, endpoint)
}

func newOutbox(t *testing.T, pool *pgxpool.Pool) *outbox.Outbox {
	t.Helper()
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Stop(context.Background())) })
	return o
}

func newWorldOn(t reporter, db database, source, name, endpoint string) *world {
	t.Helper()
	w := &world{t: t, database: db, asked: map[string]int{}, now: time.Now().Add(-30 * time.Minute).Truncate(time.Second)}
	var err error
	w.provider, err = catalog.New(name, provider.Options{})
	require.NoError(t, err)
	g, err := gateway.New(gateway.Options{Accepter: w.outbox, Sources: []gateway.Source{{
		Name: source, Provider: w.provider, Secrets: []gateway.Secret{{Value: secret.New(signingSecret)}},
	}}})
	require.NoError(t, err)
	w.hooks = httptest.NewServer(g.Handler())
	t.Cleanup(w.hooks.Close)
	w.sender = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sendersAtOnce}}
	t.Cleanup(w.sender.CloseIdleConnections)
	w.api = httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(w.api.Close)
	w.source = Source{
		Name: source, Provider: w.provider, URL: w.hooks.URL + "/webhooks/" + source,
		Settings: Settings{
			Token: secret.New("token-of-the-tests"), Endpoint: endpoint, BaseURL: w.api.URL, Rate: 1000,
			Lag: time.Millisecond, Overlap: time.Hour, Every: time.Millisecond,
		}.WithDefaults(w.provider.List),
	}
	require.NoError(t, w.source.Settings.Validate(90*day))
	w.backfill = w.process(func() Source { return w.source })
	w.announceGateway()
	w.turn() // creates the list's watermark
	_, err = w.pool.Exec(t.Context(), "UPDATE hooklatch.coverage SET created_at = now() - interval '2 hours', covered_until = now() - interval '1 hour' WHERE source = $1", source)
	require.NoError(t, err)
	return w
}

// process returns a new Backfill for one source. It stands for the Backfill of another process.
func (w *world) process(source func() Source) *Backfill {
	w.t.Helper()
	b, err := New(Options{Outbox: w.passes, Sources: func() []Source { return []Source{source()} }, Budget: time.Hour, GatewayGone: time.Hour})
	require.NoError(w.t, err)
	return b
}

func (w *world) announceGateway() {
	_, err := w.outbox.Fleet().Announce(w.t.Context(), fleet.Presence{ID: "gateway", GatewayOnly: true, Hash: "1", Sources: []string{w.source.Name}})
	require.NoError(w.t, err)
}

// turn runs a pass and returns its run.
func (w *world) turn() coverage.Run {
	w.t.Helper()
	w.hurry()
	require.NoError(w.t, w.backfill.Turn(w.t.Context()))
	return w.lastRun()
}

func (w *world) hurry() {
	w.t.Helper()
	require.NoError(w.t, w.outbox.Coverage().Hurry(w.t.Context(), []identitySource{identitySource(w.source.Name)}))
}

func (w *world) lastRun() coverage.Run {
	w.t.Helper()
	runs, err := w.outbox.Coverage().Runs(w.t.Context(), identitySource(w.source.Name), 1)
	require.NoError(w.t, err)
	require.Len(w.t, runs, 1)
	return runs[0]
}

// happen creates events. The result of deliver(i) is how often the webhook of event i arrives.
func (w *world) happen(n int, eventType string, deliver func(i int) int) []*happened {
	w.t.Helper()
	var made, webhooks []*happened
	for i := range n {
		h := w.event(eventType, time.Millisecond, false)
		made = append(made, h)
		for range deliver(i) {
			webhooks = append(webhooks, h)
		}
	}
	require.NoError(w.t, w.deliver(webhooks...))
	return made
}

func never(int) int { return 0 }

// event creates an event the given time after the previous one. It does not send the webhook.
func (w *world) event(eventType string, after time.Duration, hidden bool) *happened {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(after)
	id := fmt.Sprintf("evt_%s_%d", strings.NewReplacer(".", "_", "*", "").Replace(eventType), len(w.events))
	h := &happened{id: id, eventType: eventType, number: len(w.events), at: w.now, webhook: w.provider.Sample(eventType, id, w.now), hidden: hidden}
	if w.events = append(w.events, h); !hidden {
		w.feed = append(w.feed, h)
	}
	return h
}

// list adds a hidden event to the provider's list.
func (w *world) list(h *happened) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.hidden = false
	w.feed = append(w.feed, h)
}

// deliver sends webhooks as the provider does, some simultaneously.
func (w *world) deliver(webhooks ...*happened) error {
	var senders errgroup.Group
	senders.SetLimit(sendersAtOnce)
	for _, h := range webhooks {
		senders.Go(func() error {
			request := &provider.Request{Method: http.MethodPost, Header: h.webhook.Header.Clone(), Body: slices.Clone(h.webhook.Body)}
			if err := w.provider.Sign(request, secret.New(signingSecret), time.Now()); err != nil {
				return err
			}
			r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.source.URL, strings.NewReader(string(request.Body)))
			if err != nil {
				return err
			}
			r.Header = request.Header
			response, err := w.sender.Do(r)
			if err != nil {
				return err
			}
			if response.StatusCode/100 != http.StatusOK/100 {
				return fmt.Errorf("the gateway answered %d to %s", response.StatusCode, h.id)
			}
			w.mu.Lock()
			h.delivered = true
			w.mu.Unlock()
			return response.Body.Close()
		})
	}
	return senders.Wait()
}

func (w *world) state() coverage.State {
	w.t.Helper()
	states, err := w.outbox.Coverage().States(w.t.Context())
	require.NoError(w.t, err)
	at := slices.IndexFunc(states, func(s coverage.State) bool { return s.Source == identitySource(w.source.Name) })
	require.GreaterOrEqual(w.t, at, 0)
	return states[at]
}
