// Package listed simulates a sender that, like GitHub, never retries but lists its deliveries.
// Events that no webhook delivered can be fetched from the sender's API, or are delivered again on
// request. Torture runs and sweeps include this sender.
package listed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/post"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Source is the sender's name in gateways, and Secret its signing secret. Endpoint is the path of
// the gateways' endpoint in the sender's API, and Token is the API's token.
const (
	Source   = "listed"
	Secret   = "listed_secret_0123456789abcdef"
	Endpoint = "repos/acme/shop/hooks/1"
	Token    = "token_of_the_run_0123456789abcdef"
)

const (
	patience = 5 * time.Second // time limit for a response
	perPage  = 100
	// firstNumber is the number of the first delivery. A client that parses it as a float64 gets
	// the number before it.
	firstNumber = 9007199254740993
	// refusedOf selects the refusals: the API refuses to redeliver a delivery if the last digit of
	// its number is divisible by refusedOf. The event must then be fetched.
	refusedOf = 4
)

// Options configure a Sender.
type Options struct {
	// History gets a record of every event, and of every webhook. Required.
	History *history.Writer
	// Gateways are the targets of webhooks: URLs with a scheme, host and port. Required.
	Gateways []string
	// Pace is the pause between two events. Defaults to 100 ms.
	Pace time.Duration
}

// Sender creates events, and is the http.Handler of its API. It is safe for concurrent use.
type Sender struct {
	opts     Options
	provider *provider.Provider
	client   *http.Client
	gateways []*url.URL

	began sync.Once
	read  chan struct{} // closed at the first request to the API

	mu     sync.Mutex
	events []*event
}

// event is an event with the header and the body of its webhook.
type event struct {
	id        string
	at        time.Time
	header    http.Header
	body      []byte
	delivered bool
}

// New creates a sender that does not send yet.
func New(opts Options) (*Sender, error) {
	p, err := catalog.New("github", provider.Options{})
	if err != nil {
		return nil, fmt.Errorf("listed: %w", err)
	}
	if opts.Pace == 0 {
		opts.Pace = 100 * time.Millisecond
	}
	s := &Sender{opts: opts, provider: p, client: &http.Client{Timeout: patience}, read: make(chan struct{})}
	for _, gateway := range opts.Gateways {
		base, err := url.Parse(gateway)
		if err != nil {
			return nil, fmt.Errorf("listed: %w", err)
		}
		s.gateways = append(s.gateways, base)
	}
	return s, nil
}

// Run creates events until ctx is done. It starts at the first request to the API, because workers
// would not fetch earlier events automatically. Run sends each event's webhook at most once.
func (s *Sender) Run(ctx context.Context) {
	select {
	case <-s.read:
	case <-ctx.Done():
	}
	for n := 0; ctx.Err() == nil; n++ {
		e := s.happen(n)
		if n%3 > 0 {
			s.deliver(e, 1)
		}
		_ = retry.Wait(ctx, s.opts.Pace) // the loop checks ctx
	}
}

// happen creates the n-th event, and lists it.
func (s *Sender) happen(n int) *event {
	id := fmt.Sprintf("%08x-0000-4000-9000-%012x", rand.Uint32(), n) //nolint:gosec // a name
	e := &event{id: id, at: time.Now().UTC()}
	sample := s.provider.Sample("push", id, e.at)
	e.header, e.body = sample.Header, sample.Body
	// From now on, the event must be stored even if no webhook delivers it, because it is listed.
	s.opts.History.Begin(history.Record{Who: Source, Op: history.OpDeliver, Delivery: s.told(e, 0, "")}).End(history.Fail, "no webhook was sent yet", nil)
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	return e
}

func (s *Sender) told(e *event, attempt int, to string) *history.Delivery {
	return &history.Delivery{
		Source: Source, Gateway: to, EventIDs: []string{e.id}, Hash: post.Hash(e.body), Signed: true, Listed: true,
		Attempt: attempt, Deadline: patience.Microseconds(),
	}
}

// deliver sends an event's webhook once.
func (s *Sender) deliver(e *event, attempt int) {
	to := s.gateways[rand.IntN(len(s.gateways))] //nolint:gosec // no secret depends on it
	signed := &provider.Request{Method: http.MethodPost, URL: to.JoinPath("webhooks", Source), Header: e.header.Clone(), Body: e.body}
	if err := s.provider.Sign(signed, secret.New(Secret), time.Now()); err != nil {
		panic(fmt.Sprintf("sign as %s: %s", Source, err)) // the secret is valid
	}
	// The run's context is not used, so that a started delivery is completed.
	out := post.Delivery{
		Who: Source, Client: s.client, Request: signed, Deadline: patience, Told: *s.told(e, attempt, to.String()),
	}.Make(context.Background(), s.opts.History)
	if out.Acknowledged {
		s.mu.Lock()
		e.delivered = true
		s.mu.Unlock()
	}
}

// Missing returns the number of events that are not stored in a run's database.
func (s *Sender) Missing(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	var stored int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM hooklatch.processed_events WHERE source = $1", Source).Scan(&stored); err != nil {
		return 0, fmt.Errorf("count the events of the list: %w", err)
	}
	return s.Events() - stored, nil
}

// Events returns the number of events created so far.
func (s *Sender) Events() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// ServeHTTP serves the API: the gateways' endpoint, the list of deliveries, a delivery with
// its request, and its redelivery.
func (s *Sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.began.Do(func() { close(s.read) })
	path, found := strings.CutPrefix(r.URL.Path, "/"+Endpoint)
	if !found || r.Header.Get("Authorization") != "Bearer "+Token {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	path = strings.TrimPrefix(path, "/deliveries")
	switch reference, redelivers := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/attempts"); {
	case strings.TrimSuffix(r.URL.Path, "/") == "/"+Endpoint:
		_, _ = io.WriteString(w, `{"active":true,"config":{},"last_response":{"message":"OK"}}`)
	case path == "":
		s.list(w, r)
	case redelivers:
		s.redeliver(w, reference)
	default:
		s.show(w, reference)
	}
}

// list writes a page of deliveries, the newest first. The cursor is the number of events that
// remain for the following pages.
func (s *Sender) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.events)
	if cursor, err := strconv.Atoi(r.URL.Query().Get("cursor")); err == nil {
		at = min(cursor, at)
	}
	items := []map[string]any{}
	for ; at > 0 && len(items) < perPage; at-- {
		e := s.events[at-1]
		status := "failed to connect to host"
		if e.delivered {
			status = "OK"
		}
		items = append(items, map[string]any{
			"id": uint64(firstNumber + at - 1), "guid": e.id, "delivered_at": e.at.Format(time.RFC3339Nano), "event": "push", "action": nil, "status": status,
		})
	}
	if at > 0 {
		w.Header().Set("Link", fmt.Sprintf(`</%s/deliveries?per_page=%d&cursor=%d>; rel="next"`, Endpoint, perPage, at))
	}
	_ = json.NewEncoder(w).Encode(items) // fails if the client has closed the connection
}

func (s *Sender) event(reference string) *event {
	n, err := strconv.Atoi(reference)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n -= firstNumber; err != nil || n < 0 || n >= len(s.events) {
		return nil
	}
	return s.events[n]
}

func (s *Sender) redeliver(w http.ResponseWriter, reference string) {
	switch e := s.event(reference); {
	case e == nil:
		w.WriteHeader(http.StatusNotFound)
	case reference[len(reference)-1]%refusedOf == 0:
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		s.deliver(e, 2)
		w.WriteHeader(http.StatusAccepted)
	}
}

// show writes a delivery with its body as sent, byte for byte.
func (s *Sender) show(w http.ResponseWriter, reference string) {
	e := s.event(reference)
	if e == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	headers := map[string]string{}
	for name := range e.header {
		headers[name] = e.header.Get(name)
	}
	text, err := json.Marshal(headers)
	if err != nil {
		panic(err) // never: a map of strings can be encoded
	}
	_, _ = fmt.Fprintf(w, `{"request":{"headers":%s,"payload":%s}}`, text, e.body)
}
