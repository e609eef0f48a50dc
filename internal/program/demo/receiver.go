// Package demo provides example receivers for the dev command: an HTTP receiver that applies each
// idempotency key once, and a mail server that lists the emails that it received.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// maxBody is the maximum size of a request's body, in bytes.
	maxBody = 32 << 20
	// maxKept is the maximum number of stored values. The oldest values are removed first.
	maxKept = 10_000

	readHeaderTimeout = 5 * time.Second
)

// UnansweredPath is the path at which the first request with each key gets no response, so that its
// sender cannot know the outcome. Later requests are handled normally.
const UnansweredPath = "/unanswered"

// ReceiverOptions configure a Receiver.
type ReceiverOptions struct {
	// Listener is served until Stop. Required.
	Listener net.Listener
	// Secret verifies the Standard Webhooks signatures of requests. Required.
	Secret secret.Value
	// Mail is a mail server, or nil. GET /seen lists its emails too.
	Mail *Mail
	// Print is called with a line for each accepted request, and for each request that gets no
	// response. If nil, nothing is printed.
	Print func(line string)
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Seen is an effect that the receiver received.
type Seen struct {
	Key       string    `json:"key"`   // idempotency key
	Times     int       `json:"times"` // requests with this key; only the first is applied
	Source    string    `json:"source"`
	EventID   string    `json:"event_id"`
	EventType string    `json:"event_type"`
	Bytes     int       `json:"bytes"`
	FirstAt   time.Time `json:"first_at"`
}

// Receiver is an application that honours idempotency keys.
type Receiver struct {
	opts     ReceiverOptions
	verifier *provider.Provider
	server   *http.Server
	serving  sync.WaitGroup
	seen     *once[Seen] // by key; the first request with a key is applied
	hungUp   *once[int]  // by key: number of requests to UnansweredPath
}

// NewReceiver returns a Receiver that does not serve yet.
func NewReceiver(opts ReceiverOptions) (*Receiver, error) {
	verifier, err := catalog.New("standard-webhooks", provider.Options{})
	if err != nil {
		return nil, fmt.Errorf("demo receiver: %w", err)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Print == nil {
		opts.Print = func(string) {}
	}
	r := &Receiver{opts: opts, verifier: verifier, seen: newOnce(func(s *Seen) { s.Times++ }), hungUp: newOnce(func(n *int) { *n++ })}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /seen", r.list)
	mux.HandleFunc("POST /", r.receive)
	mux.HandleFunc("POST "+UnansweredPath, r.hangUpOnce)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	return r, nil
}

// Start serves until Stop.
func (r *Receiver) Start() {
	r.serving.Go(func() {
		if err := r.server.Serve(r.opts.Listener); !errors.Is(err, http.ErrServerClosed) {
			r.opts.Logger.Error("demo receiver stopped serving", slog.Any(logkey.Err, err))
		}
	})
}

// Stop closes the listener and waits for requests in flight. If ctx is done first, it closes their
// connections and returns an error.
func (r *Receiver) Stop(ctx context.Context) error {
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, r.server.Close())
	}
	r.serving.Wait()
	return err
}

// Seen returns the effects in the order of first arrival.
func (r *Receiver) Seen() []Seen { return r.seen.all() }

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	signed := &provider.Request{Method: request.Method, URL: request.URL, Header: request.Header, Body: body}
	if _, err := r.verifier.Verify(request.Context(), signed, []secret.Value{r.opts.Secret}, time.Now()); err != nil {
		http.Error(w, "the signature is missing or wrong", http.StatusUnauthorized)
		return
	}
	key := request.Header.Get("Idempotency-Key")
	if key == "" {
		http.Error(w, "Idempotency-Key is missing", http.StatusBadRequest)
		return
	}
	seen := r.seen.note(key, Seen{
		Key:       key,
		Source:    request.Header.Get("Hooklatch-Event-Source"),
		EventID:   request.Header.Get("Hooklatch-Event-Id"),
		EventType: request.Header.Get("Hooklatch-Event-Type"),
		Bytes:     len(body),
		FirstAt:   time.Now().UTC(),
	})
	status := "applied"
	if seen.Times > 1 {
		status = "known"
	}
	r.opts.Print(seen.line())
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"status\":%q}\n", status) // the write fails only if the client has disconnected
}

// hangUpOnce closes the connection of the first request with each key, and sends no response. It is
// an example of a receiver that fails.
func (r *Receiver) hangUpOnce(w http.ResponseWriter, request *http.Request) {
	key := request.Header.Get("Idempotency-Key")
	if key != "" && r.hungUp.note(key, 0) == 1 {
		r.opts.Print("receiver  hung up  on the request with key " + key + ", as an example")
		panic(http.ErrAbortHandler) // the server closes the connection without a response
	}
	r.receive(w, request)
}

func (s Seen) line() string {
	what := fmt.Sprintf("%s %s %s, %d bytes, key %s", s.Source, s.EventType, s.EventID, s.Bytes, s.Key)
	if s.Times > 1 {
		return fmt.Sprintf("receiver  known    %s: request %d, not applied again", what, s.Times)
	}
	return "receiver  applied  " + what
}

// named reports whether the request's Host header is localhost, a loopback address or the
// listener's address.
func (r *Receiver) named(request *http.Request) bool {
	return loopback.Called(request) || request.Host == r.opts.Listener.Addr().String()
}

func (r *Receiver) list(w http.ResponseWriter, request *http.Request) {
	if !r.named(request) {
		http.Error(w, "only requests to localhost are allowed: use localhost in the URL", http.StatusMisdirectedRequest)
		return
	}
	listed := struct {
		Effects []Seen     `json:"effects"`
		Mails   []SeenMail `json:"mails"`
	}{Effects: r.Seen(), Mails: []SeenMail{}}
	if r.opts.Mail != nil {
		listed.Mails = r.opts.Mail.Seen()
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(listed) // the write fails only if the client has disconnected
}
