// Package witness adds the operations of another process of a sweep to the history. The process
// announces each operation before it begins, and reports how it ended. If the process is killed
// between the two, the operation has no end in the history.
package witness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// end reports the end of an operation to the desk.
type end struct {
	ID   int64        `json:"id"`
	Kind history.Kind `json:"kind"`
	Text string       `json:"text"`
}

// Desk receives the reports of witnesses. It is an http.Handler.
type Desk struct {
	history *history.Writer

	mu   sync.Mutex
	last int64
	open map[int64]*history.Operation
}

// NewDesk returns a Desk that writes to w.
func NewDesk(w *history.Writer) *Desk {
	return &Desk{history: w, open: make(map[int64]*history.Operation)}
}

// ServeHTTP implements http.Handler.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/begin":
		var record history.Record
		if err := json.Unmarshal(body, &record); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		d.mu.Lock()
		d.last++
		id := d.last
		d.open[id] = d.history.Begin(record)
		d.mu.Unlock()
		_ = json.NewEncoder(w).Encode(id) // fails only if the witness has closed the connection
	case "/end":
		var e end
		if err := json.Unmarshal(body, &e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		d.mu.Lock()
		operation := d.open[e.ID]
		delete(d.open, e.ID)
		d.mu.Unlock()
		if operation != nil {
			operation.End(e.Kind, e.Text, nil)
		}
	default:
		http.NotFound(w, r)
	}
}

// Witness reports its process's operations.
type Witness struct {
	url    string
	client *http.Client
}

// New returns a Witness that reports to the desk at url.
func New(url string) *Witness {
	return &Witness{url: url, client: &http.Client{Timeout: 5 * time.Second}}
}

// Watch announces an operation, calls the function do to perform it, and reports the result. An
// error means that a report failed. If the announcement failed, Watch has not called do.
func (w *Witness) Watch(ctx context.Context, r history.Record, do func() (history.Kind, string)) error {
	var id int64
	if err := w.say(ctx, "/begin", r, &id); err != nil {
		return fmt.Errorf("report that %s begins: %w", r.Op, err)
	}
	kind, text := do()
	// The process may have been shut down meanwhile.
	if err := w.say(context.WithoutCancel(ctx), "/end", end{ID: id, Kind: kind, Text: text}, nil); err != nil {
		return fmt.Errorf("report that %s ended: %w", r.Op, err)
	}
	return nil
}

func (w *Witness) say(ctx context.Context, path string, what, answer any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the desk answered %s", response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
