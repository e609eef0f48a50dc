package crashtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// shownEffect is the output of `hooklatch effects show --json`.
type shownEffect struct {
	IdempotencyKey    string     `json:"idempotency_key"`
	State             string     `json:"state"`
	Attempt           int        `json:"attempt"`
	MaybeAppliedSince *time.Time `json:"maybe_applied_since"`
	ResponseStatus    int        `json:"response_status"`
	ResponseExcerpt   string     `json:"response_excerpt"`
	Error             string     `json:"error"`
	Attempts          []struct {
		Applied   string    `json:"applied"`
		StartedAt time.Time `json:"started_at"`
	} `json:"attempts"`
}

// applied lists for each attempt whether the receiver applied it: yes, no or ? (unknown).
func (e shownEffect) applied() string {
	list := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		list[i] = strings.Replace(a.Applied, "unknown", "?", 1)
	}
	return strings.Join(list, ",")
}

// calls records the bodies of the requests to receivers, by idempotency key.
type calls struct {
	mu     sync.Mutex
	bodies map[string][]string
}

// count records a call and returns the number of calls with its key, or 0 if the body could not be
// read.
func (c *calls) count(r *http.Request) int {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	c.bodies[key] = append(c.bodies[key], string(body))
	return len(c.bodies[key])
}

// For each kind of receiver failure, `effects show` of the real binary reports the result that the
// protocol defines.
func TestReceiversThatFail(t *testing.T) {
	t.Parallel()
	seen := &calls{bodies: make(map[string][]string)}
	released := make(chan struct{})
	receivers := map[string]http.HandlerFunc{
		"fine": func(_ http.ResponseWriter, r *http.Request) { seen.count(r) },
		"error500": func(w http.ResponseWriter, r *http.Request) {
			seen.count(r)
			http.Error(w, "sorry\x00", http.StatusInternalServerError)
		},
		"busy429": func(w http.ResponseWriter, r *http.Request) {
			if seen.count(r) == 1 {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		},
		"bad400": func(w http.ResponseWriter, r *http.Request) {
			seen.count(r)
			http.Error(w, "no such order", http.StatusBadRequest)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			if seen.count(r) == 1 {
				<-released
			}
		},
		"resets": func(_ http.ResponseWriter, r *http.Request) {
			if seen.count(r) == 1 { // applied, and the connection is cut before the response
				panic(http.ErrAbortHandler)
			}
		},
	}
	var config strings.Builder
	fmt.Fprintf(&config, "destinations:\n  down: {http: {url: %q}, timeout: 60s, retry: {initial: 50ms, max: 100ms, max_attempts: 3}}\n", "http://"+freeAddresses(t, 1)[0])
	for name, receiver := range receivers {
		server := httptest.NewUnstartedServer(receiver)
		server.Config.ErrorLog = nil
		server.Start()
		t.Cleanup(server.Close)
		timeout := "60s" // a busy machine must not end an attempt
		if name == "hangs" {
			timeout = "10s"
		}
		fmt.Fprintf(&config, "  %s: {http: {url: %q}, timeout: %s, retry: {initial: 50ms, max: 100ms, max_attempts: 3}}\n", name, server.URL, timeout)
	}
	t.Cleanup(func() { close(released) }) // runs before the servers wait for their handlers
	config.WriteString("routes:\n  - {name: down, from: stripe, types: [test.down], to: down}\n")
	for name := range receivers {
		fmt.Fprintf(&config, "  - {name: %s, from: stripe, types: [test.%s], to: %s}\n", name, name, name)
	}

	pool := pgtest.New(t, pgtest.MaxConns(4))
	p := newProcess(t, pool, "serve", config.String())
	p.start(t)
	for name, want := range map[string]struct {
		state, applied string
		doubt          bool
		status         int
	}{
		"fine":     {"done", "yes", false, 200},
		"down":     {"parked", "no,no,no", false, 0},
		"error500": {"parked", "?,?,?", true, 500},
		"busy429":  {"done", "no,yes", false, 200},
		"bad400":   {"failed", "no", false, 400},
		"hangs":    {"done", "?,yes", true, 200},
		"resets":   {"done", "?,yes", true, 200},
	} {
		status, _ := p.deliver(t.Context(), "test."+name, "evt_"+name)
		require.Equal(t, 200, status, name)
		var key string
		require.Eventually(t, func() bool {
			return pool.QueryRow(t.Context(), `SELECT idempotency_key FROM hooklatch.effects
				WHERE event_id = $1 AND state IN ('done', 'failed', 'parked')`, "evt_"+name).Scan(&key) == nil
		}, patience, 10*time.Millisecond, name)
		var e shownEffect
		require.NoError(t, json.Unmarshal(p.run(t, "effects", "show", key, "--json"), &e))
		require.Equal(t, want.state, e.State, name)
		require.Equal(t, want.applied, e.applied(), name)
		require.Equal(t, len(e.Attempts), e.Attempt, name)
		require.Equal(t, want.doubt, e.MaybeAppliedSince != nil, name)
		require.Equal(t, want.status, e.ResponseStatus, name)
		require.NotContains(t, e.ResponseExcerpt, "\x00")
		require.Equal(t, want.state == "done", e.Error == "", "%s: %s", name, e.Error)
		if name == "busy429" {
			require.GreaterOrEqual(t, e.Attempts[1].StartedAt.Sub(e.Attempts[0].StartedAt), 2*time.Second, "Retry-After")
		}
		seen.mu.Lock()
		bodies := seen.bodies[key]
		seen.mu.Unlock()
		if name != "down" {
			require.Len(t, bodies, e.Attempt, name)
		}
		for _, body := range bodies {
			require.Equal(t, bodies[0], body, "every attempt sends the same (I7)")
		}
		require.Contains(t, string(p.run(t, "effects", "show", key)), want.state)
	}
}
