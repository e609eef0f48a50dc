package backfill

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// listing describes a provider's list: our endpoint at the provider, an event type to which the
// endpoint is subscribed, and an event type to which it is not.
type listing struct{ endpoint, eventType, foreign string }

func listings() map[string]listing {
	return map[string]listing{
		"stripe": {"we_1", "invoice.paid", "customer.created"},
		"github": {"repos/acme/shop/hooks/1", "push", "issues.opened"},
		"gitlab": {"projects/7/hooks/1", "push", "issue.open"},
		"okta":   {"who8vt36qfNpCGz9H1e6", "user.lifecycle.create", "user.session.start"},
		"paddle": {"ntfset_01gkpjp8bkm3tm53kdgkx6sms7", "transaction.completed", "subscription.created"},
	}
}

// subscribe restricts the passes to one type. It does nothing for Stripe and Okta, which report
// the types to which the endpoint is subscribed.
func (w *world) subscribe(eventType string) {
	if name := w.provider.Name; name != "stripe" && name != "okta" {
		w.source.Settings.Types = []string{eventType}
	}
}

// answer serves the provider's API.
func (w *world) answer(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests = append(w.requests, time.Now())
	refuse := w.refuse
	w.mu.Unlock()
	if refuse != nil && refuse(out, r) {
		return
	}
	var answer any
	switch name, path := w.provider.Name, r.URL.Path; {
	case name == "stripe" && strings.HasPrefix(path, "/v1/webhook_endpoints/"):
		answer = map[string]any{"id": "we_1", "url": w.source.URL, "status": "enabled", "enabled_events": []string{"invoice.paid"}, "api_version": nil}
	case name == "stripe":
		answer = w.stripePage(r)
	case name == "gitlab" && strings.HasSuffix(path, "/events"):
		answer = w.gitlabPage(r)
	case name == "gitlab":
		answer = map[string]any{"url": w.source.URL, "alert_status": "executable", "disabled_until": nil}
	case name == "okta" && strings.HasPrefix(path, "/api/v1/eventHooks/"):
		answer = map[string]any{"status": "ACTIVE", "channel": map[string]any{"config": map[string]any{"uri": w.source.URL}}, "events": map[string]any{"type": "EVENT_TYPE", "items": []string{"user.lifecycle.create"}}}
	case name == "okta":
		answer = w.oktaPage(out, r)
	case name == "paddle" && path == "/notifications":
		answer = w.paddlePage(r)
	case name == "paddle":
		answer = map[string]any{"data": map[string]any{"active": true, "destination": w.source.URL}}
	case strings.HasSuffix(path, "/attempts"):
		w.redeliver(out, r)
		return
	case strings.Contains(path, "/deliveries/"):
		answer = w.githubDelivery(out, r)
	case strings.HasSuffix(path, "/deliveries"):
		answer = w.githubPage(out, r)
	default:
		answer = map[string]any{"active": true, "config": map[string]any{"url": w.source.URL}, "last_response": map[string]any{"message": "OK"}}
	}
	_ = json.NewEncoder(out).Encode(answer) // fails if the pass was killed
}

// isList reports whether a request is for a page of the list.
func isList(r *http.Request) bool {
	return slices.ContainsFunc([]string{"/v1/events", "/deliveries", "/events", "/api/v1/logs", "/notifications"}, func(end string) bool { return strings.HasSuffix(r.URL.Path, end) })
}

// page returns the number of items that the provider shows on one page; w.mu is held.
func (w *world) page(usual int) int { return cmp.Or(w.perPage, usual) }

// shown returns the events that a list shows, oldest first; w.mu is held.
func (w *world) shown() []*happened {
	return slices.DeleteFunc(slices.Clone(w.events), func(h *happened) bool { return h.hidden })
}

// stripePage serves the events between two whole seconds, newest first, in pages of 100.
func (w *world) stripePage(r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, _ := strconv.ParseInt(r.URL.Query().Get("created[gte]"), 10, 64)
	until, _ := strconv.ParseInt(r.URL.Query().Get("created[lt]"), 10, 64)
	after, found := r.URL.Query().Get("starting_after"), false
	data, more := []json.RawMessage{}, false
	for _, h := range slices.Backward(w.shown()) {
		switch created := h.at.Unix(); {
		case h.account != r.Header.Get("Stripe-Account"):
		case created < since || created >= until:
		case after != "" && !found:
			found = h.id == after
		case len(data) == w.page(100):
			more = true
		default:
			data = append(data, h.webhook.Body)
		}
	}
	return map[string]any{"object": "list", "data": data, "has_more": more}
}

// gitlabPage serves the events newest first, without times, in numbered pages of 20.
func (w *world) gitlabPage(r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	shown := w.shown()
	at := len(shown) - 20*(max(number, 1)-1)
	items := []any{}
	for at > 0 && len(items) < 20 {
		at--
		h := shown[at]
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
			"id": gitlabNumber(h), "url": w.source.URL, "trigger": "push_hooks", "request_headers": headers, "request_data": json.RawMessage(h.webhook.Body), "response_status": status,
		})
	}
	return items
}

// gitlabNumber returns an event's number, which soon grows from two digits to three: compared
// as text, the longer number would be smaller.
func gitlabNumber(h *happened) int { return h.number + 95 }

// oktaPage serves a feed: every page has a next page.
func (w *world) oktaPage(out http.ResponseWriter, r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, _ := strconv.Atoi(r.URL.Query().Get("after"))
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("since"))
	items := []json.RawMessage{}
	for ; at < len(w.feed) && len(items) < w.page(100); at++ {
		if h := w.feed[at]; !h.at.Before(since) {
			items = append(items, json.RawMessage(gjson.GetBytes(h.webhook.Body, "data.events.0").Raw))
		}
	}
	out.Header().Add("Link", fmt.Sprintf(`<%s/api/v1/logs>; rel="self"`, w.api.URL))
	out.Header().Add("Link", fmt.Sprintf(`<%s/api/v1/logs?after=%d&limit=100>; rel="next"`, w.api.URL, at))
	return items
}

// paddlePage serves the events oldest first.
func (w *world) paddlePage(r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("from"))
	until, _ := time.Parse(time.RFC3339, r.URL.Query().Get("to"))
	after, found := r.URL.Query().Get("after"), false
	data, more := []any{}, false
	for _, h := range w.shown() {
		id := fmt.Sprintf("ntf_%05d", h.number)
		switch {
		case h.at.Before(since) || !h.at.Before(until):
		case after != "" && !found:
			found = id == after
		case len(data) == w.page(200):
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
