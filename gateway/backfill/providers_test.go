package backfill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/coverage"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const signingSecret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHMsIGxvbmcgZW5vdWdo"

// happened is one event at a provider, with the webhook that tells of it.
type happened struct {
	id, eventType string
	at            time.Time
	webhook       *provider.Request
	delivered     bool
}

// world is a provider with an API, and a gateway that gets its webhooks.
type world struct {
	t        *testing.T
	pool     *pgxpool.Pool
	outbox   *outbox.Outbox
	provider *provider.Provider
	backfill *Backfill
	source   Source
	hooks    *httptest.Server
	api      *httptest.Server

	mu       sync.Mutex
	now      time.Time   // of the provider: the lists are read long after
	events   []*happened // as they happened
	requests []time.Time
	refuse   func(w http.ResponseWriter, r *http.Request) bool // an answer that is none
	asked    map[string]int                                    // redeliveries, by event
}

func newWorld(t *testing.T, name, endpoint string) *world {
	t.Helper()
	w := &world{t: t, pool: pgtest.New(t), asked: map[string]int{}, now: time.Now().Add(-30 * time.Minute).Truncate(time.Second)}
	var err error
	w.provider, err = catalog.New(name, provider.Options{})
	require.NoError(t, err)
	w.outbox, err = outbox.New(outbox.Options{Pool: w.pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.outbox.Stop(context.Background())) })
	g, err := gateway.New(gateway.Options{Accepter: w.outbox, Sources: []gateway.Source{{
		Name: name, Provider: w.provider, Secrets: []gateway.Secret{{Value: secret.New(signingSecret)}},
	}}})
	require.NoError(t, err)
	w.hooks = httptest.NewServer(g.Handler())
	t.Cleanup(w.hooks.Close)
	w.api = httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(w.api.Close)
	w.source = Source{
		Name: name, Provider: w.provider, URL: w.hooks.URL + "/webhooks/" + name,
		Settings: Settings{
			Token: secret.New("token-of-the-tests"), Endpoint: endpoint, BaseURL: w.api.URL, Rate: 1000,
			Lag: time.Millisecond, Overlap: time.Hour, Every: time.Millisecond,
		}.WithDefaults(w.provider.List),
	}
	require.NoError(t, w.source.Settings.Validate(90*day))
	w.backfill, err = New(Options{Outbox: w.outbox, Sources: func() []Source { return []Source{w.source} }})
	require.NoError(t, err)
	w.announceGateway()
	w.turn() // the list begins
	_, err = w.pool.Exec(t.Context(), "UPDATE hooklatch.coverage SET created_at = now() - interval '2 hours', covered_until = now() - interval '1 hour'")
	require.NoError(t, err)
	return w
}

func (w *world) announceGateway() {
	_, err := w.outbox.Fleet().Announce(w.t.Context(), fleet.Presence{ID: "gateway", GatewayOnly: true, Hash: "1", Sources: []string{w.source.Name}})
	require.NoError(w.t, err)
}

// turn makes a pass, and returns what it found.
func (w *world) turn() coverage.Run {
	w.t.Helper()
	require.NoError(w.t, w.outbox.Coverage().Hurry(w.t.Context(), []identitySource{identitySource(w.source.Name)}))
	require.NoError(w.t, w.backfill.Turn(w.t.Context()))
	runs, err := w.outbox.Coverage().Runs(w.t.Context(), identitySource(w.source.Name), false, 1)
	require.NoError(w.t, err)
	require.Len(w.t, runs, 1)
	return runs[0]
}

// happen makes events, of which deliver says whether their webhooks come.
func (w *world) happen(n int, eventType string, deliver func(i int) int) {
	w.t.Helper()
	for i := range n {
		w.mu.Lock()
		id := fmt.Sprintf("evt_%s_%d", strings.NewReplacer(".", "_", "*", "").Replace(eventType), len(w.events))
		w.now = w.now.Add(time.Millisecond)
		h := &happened{id: id, eventType: eventType, at: w.now}
		h.webhook = w.provider.Sample(eventType, id, h.at)
		w.events = append(w.events, h)
		w.mu.Unlock()
		for range deliver(i) {
			w.deliver(h)
		}
	}
}

// deliver sends a webhook as the provider does.
func (w *world) deliver(h *happened) {
	request := &provider.Request{Method: http.MethodPost, Header: h.webhook.Header.Clone(), Body: slices.Clone(h.webhook.Body)}
	require.NoError(w.t, w.provider.Sign(request, secret.New(signingSecret), time.Now()))
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.source.URL, strings.NewReader(string(request.Body)))
	require.NoError(w.t, err)
	r.Header = request.Header
	response, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	require.NoError(w.t, response.Body.Close())
	w.mu.Lock()
	h.delivered = h.delivered || response.StatusCode == http.StatusOK
	w.mu.Unlock()
}

// answer is the API.
func (w *world) answer(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests = append(w.requests, time.Now())
	refuse := w.refuse
	w.mu.Unlock()
	if refuse != nil && refuse(out, r) {
		return
	}
	var answer any
	switch {
	case w.source.Name == "stripe" && strings.HasPrefix(r.URL.Path, "/v1/webhook_endpoints/"):
		answer = map[string]any{"id": "we_1", "url": w.source.URL, "status": "enabled", "enabled_events": []string{"invoice.paid"}, "api_version": nil}
	case w.source.Name == "stripe":
		answer = w.stripePage(r)
	case w.source.Name == "gitlab" && strings.HasSuffix(r.URL.Path, "/events"):
		answer = w.gitlabPage(r)
	case w.source.Name == "gitlab":
		answer = map[string]any{"url": w.source.URL, "alert_status": "executable", "disabled_until": nil}
	case w.source.Name == "okta" && strings.HasPrefix(r.URL.Path, "/api/v1/eventHooks/"):
		answer = map[string]any{"status": "ACTIVE", "channel": map[string]any{"config": map[string]any{"uri": w.source.URL}}, "events": map[string]any{"type": "EVENT_TYPE", "items": []string{"user.lifecycle.create"}}}
	case w.source.Name == "okta":
		answer = w.oktaPage(out, r)
	case w.source.Name == "paddle" && r.URL.Path == "/notifications":
		answer = w.paddlePage(r)
	case w.source.Name == "paddle":
		answer = map[string]any{"data": map[string]any{"active": true, "destination": w.source.URL}}
	case strings.HasSuffix(r.URL.Path, "/attempts"):
		w.redeliver(out, r)
		return
	case strings.Contains(r.URL.Path, "/deliveries/"):
		answer = w.githubDelivery(r)
	case strings.HasSuffix(r.URL.Path, "/deliveries"):
		answer = w.githubPage(out, r)
	default:
		answer = map[string]any{"active": true, "config": map[string]any{"url": w.source.URL}, "last_response": map[string]any{"message": "OK"}}
	}
	require.NoError(w.t, json.NewEncoder(out).Encode(answer))
}

// stripePage is newest first, in pages of 100, between two whole seconds.
func (w *world) stripePage(r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, _ := strconv.ParseInt(r.URL.Query().Get("created[gte]"), 10, 64)
	until, _ := strconv.ParseInt(r.URL.Query().Get("created[lt]"), 10, 64)
	after, found := r.URL.Query().Get("starting_after"), false
	data, more := []json.RawMessage{}, false
	for _, h := range slices.Backward(w.events) {
		switch created := h.at.Unix(); {
		case created < since || created >= until:
		case after != "" && !found:
			found = h.id == after
		case len(data) == 100:
			more = true
		default:
			data = append(data, h.webhook.Body)
		}
	}
	return map[string]any{"object": "list", "data": data, "has_more": more}
}

// number of a delivery at GitHub: two of them are one as floats.
func number(i int) uint64 { return 9007199254740993 + uint64(i) }

func (w *world) githubPage(out http.ResponseWriter, r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := len(w.events)
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		at, _ = strconv.Atoi(cursor)
	}
	items := []any{}
	for at > 0 && len(items) < 100 {
		at--
		h := w.events[at]
		event, action, _ := strings.Cut(h.eventType, ".")
		item := map[string]any{"id": number(at), "guid": h.id, "delivered_at": h.at.UTC().Format(time.RFC3339Nano), "event": event, "action": nil, "status": "failed to connect to host", "status_code": 0}
		if action != "" {
			item["action"] = action
		}
		if h.delivered {
			item["status"], item["status_code"] = "OK", 200
		}
		items = append(items, item)
	}
	if at > 0 {
		out.Header().Set("Link", fmt.Sprintf(`<%s%s?per_page=100&cursor=%d>; rel="next"`, w.api.URL, r.URL.Path, at))
	}
	return items
}

func (w *world) at(ref string) *happened {
	n, err := strconv.ParseUint(ref, 10, 64)
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[n-number(0)]
}

func (w *world) githubDelivery(r *http.Request) any {
	h := w.at(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	headers := map[string]string{}
	for name := range h.webhook.Header {
		headers[name] = h.webhook.Header.Get(name)
	}
	return map[string]any{"request": map[string]any{"headers": headers, "payload": json.RawMessage(h.webhook.Body)}}
}

func (w *world) redeliver(out http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	h := w.at(parts[len(parts)-2])
	w.mu.Lock()
	w.asked[h.id]++
	w.mu.Unlock()
	w.deliver(h)
	out.WriteHeader(http.StatusAccepted)
}

// stored counts the events that are stored, by how they came.
func (w *world) stored(origin string) int {
	var n int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), "SELECT count(*) FROM hooklatch.processed_events WHERE origin = $1", origin).Scan(&n))
	return n
}

func (w *world) recovered() int64 {
	var n int64
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), "SELECT COALESCE(sum(recovered), 0) FROM hooklatch.backfill_runs").Scan(&n))
	return n
}

// gitlabPage is newest first, in pages of 20 by number, without times.
func (w *world) gitlabPage(r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	at := len(w.events) - 20*(max(number, 1)-1)
	items := []any{}
	for at > 0 && len(items) < 20 {
		at--
		h := w.events[at]
		headers := map[string]string{}
		for name := range h.webhook.Header {
			headers[name] = h.webhook.Header.Get(name)
		}
		headers["X-Gitlab-Token"] = "[REDACTED]"
		status := "internal error"
		if h.delivered {
			status = "200"
		}
		items = append(items, map[string]any{
			"id": at + 95, "url": w.source.URL, "trigger": "push_hooks", "request_headers": headers, "request_data": json.RawMessage(h.webhook.Body), "response_status": status,
		})
	}
	return items
}

// oktaPage is a feed: it always leads on.
func (w *world) oktaPage(out http.ResponseWriter, r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, _ := strconv.Atoi(r.URL.Query().Get("after"))
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("since"))
	items := []json.RawMessage{}
	for ; at < len(w.events) && len(items) < 100; at++ {
		if h := w.events[at]; !h.at.Before(since) {
			items = append(items, json.RawMessage(gjson.GetBytes(h.webhook.Body, "data.events.0").Raw))
		}
	}
	out.Header().Add("Link", fmt.Sprintf(`<%s/api/v1/logs>; rel="self"`, w.api.URL))
	out.Header().Add("Link", fmt.Sprintf(`<%s/api/v1/logs?after=%d&limit=100>; rel="next"`, w.api.URL, at))
	return items
}

// paddlePage is oldest first.
func (w *world) paddlePage(r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("from"))
	until, _ := time.Parse(time.RFC3339, r.URL.Query().Get("to"))
	after, found := r.URL.Query().Get("after"), false
	data, more := []any{}, false
	for n, h := range w.events {
		id := fmt.Sprintf("ntf_%05d", n)
		switch {
		case h.at.Before(since) || !h.at.Before(until):
		case after != "" && !found:
			found = id == after
		case len(data) == 200:
			more = true
		default:
			status := "failed"
			if h.delivered {
				status = "delivered"
			}
			data = append(data, map[string]any{"id": id, "type": h.eventType, "status": status, "payload": json.RawMessage(h.webhook.Body), "origin": "event"})
		}
	}
	return map[string]any{"data": data, "meta": map[string]any{"pagination": map[string]any{"per_page": 200, "has_more": more}}}
}
