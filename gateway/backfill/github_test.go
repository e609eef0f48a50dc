package backfill

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// firstNumber is GitHub's number for the first delivery. It is the smallest positive integer that a
// float64 cannot represent.
const firstNumber = 9007199254740993

func (w *world) githubPage(out http.ResponseWriter, r *http.Request) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.events)
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		before, _ = strconv.Atoi(cursor)
	}
	items := []any{}
	for _, h := range slices.Backward(w.shown()) {
		if h.number >= before {
			continue
		}
		if len(items) == w.page(100) {
			out.Header().Set("Link", fmt.Sprintf(`<%s%s?per_page=100&cursor=%d>; rel="next"`, w.api.URL, r.URL.Path, before))
			break
		}
		before = h.number
		event, action, _ := strings.Cut(h.eventType, ".")
		item := map[string]any{"id": firstNumber + uint64(h.number), "guid": h.id, "delivered_at": h.at.UTC().Format(time.RFC3339Nano), "event": event, "action": nil, "status": "failed to connect to host", "status_code": 0}
		if action != "" {
			item["action"] = action
		}
		if h.delivered {
			item["status"], item["status_code"] = "OK", 200
		}
		items = append(items, item)
	}
	return items
}

// delivery returns the delivery with the number ref, or nil.
func (w *world) delivery(ref string) *happened {
	n, _ := strconv.ParseUint(ref, 10, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < firstNumber || n-firstNumber >= uint64(len(w.events)) {
		return nil
	}
	return w.events[n-firstNumber]
}

func (w *world) githubDelivery(out http.ResponseWriter, r *http.Request) any {
	h := w.delivery(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	if h == nil {
		out.WriteHeader(http.StatusNotFound)
		return nil
	}
	headers := map[string]string{}
	for name := range h.webhook.Header {
		headers[name] = h.webhook.Header.Get(name)
	}
	return map[string]any{"request": map[string]any{"headers": headers, "payload": json.RawMessage(h.webhook.Body)}}
}

func (w *world) redeliver(out http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	h := w.delivery(parts[len(parts)-2])
	if h == nil {
		out.WriteHeader(http.StatusNotFound)
		return
	}
	w.mu.Lock()
	w.asked[h.id]++
	w.mu.Unlock()
	if err := w.deliver(h); err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	out.WriteHeader(http.StatusAccepted)
}
