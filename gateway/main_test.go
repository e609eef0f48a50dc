package gateway_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// testSecret is also the canary in TestSecretsStayInside.
const testSecret = "canary-secret-93b1f0"

var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// memory is an Accepter that dedupes like the outbox, for tests that need no database. If before is
// not nil, each Accept calls it first; before may delay the Accept or make the Accept fail.
type memory struct {
	before func(ctx context.Context, d outbox.Delivery) error

	mu         sync.Mutex
	deliveries []outbox.Delivery
	first      map[identity.EventRef]time.Time
}

func (m *memory) Accept(ctx context.Context, d outbox.Delivery) (outbox.Acceptance, error) {
	if m.before != nil {
		if err := m.before(ctx, d); err != nil {
			return outbox.Acceptance{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	accepted := outbox.Acceptance{DeliveryID: uuid.New()}
	for _, e := range d.Events {
		ref := identity.EventRef{Source: d.Source, EventID: e.ID}
		status := outbox.Duplicate
		if _, known := m.first[ref]; !known {
			m.first[ref] = testNow.Add(-time.Duration(len(m.first)) * time.Second)
			status = outbox.Accepted
		}
		accepted.Events = append(accepted.Events, outbox.AcceptedEvent{
			EventRef: ref, Type: e.Type, Status: status, FirstReceivedAt: m.first[ref],
		})
	}
	m.deliveries = append(m.deliveries, d)
	return accepted, nil
}

func (m *memory) all() []outbox.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]outbox.Delivery(nil), m.deliveries...)
}

// signer returns a small provider. Its X-Signature is the body's HMAC-SHA256 in hex, and its
// body is one event or {"events": [...]}.
func signer() *provider.Provider {
	return &provider.Provider{
		Name:          "signer",
		SecretHeaders: []string{"x-api-token"},
		Methods:       []string{http.MethodPost},
		Verify: func(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (provider.Verified, error) {
			got := r.Header.Get("X-Signature")
			if got == "" {
				return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature}
			}
			for i, s := range secrets {
				if hmac.Equal([]byte(got), []byte(sign(s.Reveal(), r.Body))) {
					return provider.Verified{SecretIndex: i}, nil
				}
			}
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
		},
		Events: func(r *provider.Request) ([]provider.Event, error) {
			type event struct{ ID, Type string }
			var body struct {
				event

				Events *[]event
			}
			if err := json.Unmarshal(r.Body, &body); err != nil {
				return nil, &provider.EventError{Unreadable: true, Message: "the body is not JSON"}
			}
			if body.Events == nil {
				body.Events = &[]event{body.event}
			}
			var events []provider.Event
			for _, e := range *body.Events {
				if e.ID == "" {
					return nil, &provider.EventError{Message: "the event has no id"}
				}
				events = append(events, provider.Event{ID: e.ID, Type: e.Type})
			}
			return events, nil
		},
	}
}

func newMAC() hash.Hash { return hmac.New(sha256.New, []byte(testSecret)) }

func sign(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func source(name string, p *provider.Provider) gateway.Source {
	return gateway.Source{Name: name, Provider: p, Secrets: []gateway.Secret{{Value: secret.New("old")}, {Value: secret.New(testSecret)}}}
}

type testBundle struct {
	gateway  *gateway.Gateway
	accepter *memory
	logs     *logBuffer
	reader   *sdkmetric.ManualReader
	spans    *tracetest.SpanRecorder
	client   *http.Client
	url      string // http://127.0.0.1:port
}

// setup starts a gateway with the source "orders". change may modify the options first.
func setup(t *testing.T, change func(*gateway.Options)) *testBundle {
	t.Helper()
	b := &testBundle{
		accepter: &memory{first: make(map[identity.EventRef]time.Time)},
		logs:     &logBuffer{},
		reader:   sdkmetric.NewManualReader(),
		spans:    tracetest.NewSpanRecorder(),
	}
	opts := gateway.Options{
		Accepter: b.accepter,
		Sources:  []gateway.Source{source("orders", signer())},
		Listen:   "127.0.0.1:0",
		// On a loaded machine a test's own bodies are slow. The tests of these limits set other
		// values.
		MinBodyRate: 1, ReadHeaderTimeout: 2 * time.Minute, ReadTimeout: 2 * time.Minute,
		Logger:         slog.New(slog.NewJSONHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader)),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.spans)),
		Now:            func() time.Time { return testNow },
	}
	if change != nil {
		change(&opts)
	}
	var err error
	b.gateway, err = gateway.New(opts)
	require.NoError(t, err)
	require.NoError(t, b.gateway.Start())
	b.url = "http://" + b.gateway.Addr().String()
	transport := &http.Transport{}
	b.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, b.gateway.Stop(context.WithoutCancel(t.Context())))
	})
	return b
}

type answer struct {
	status int
	header http.Header
	body   string
}

// post sends a signed delivery to /webhooks/{name}; change may make it invalid.
func (b *testBundle) post(t *testing.T, name, body string, change ...func(*http.Request)) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/webhooks/"+name, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Signature", sign(testSecret, []byte(body)))
	for _, f := range change {
		f(r)
	}
	return b.do(t, r)
}

func (b *testBundle) do(t *testing.T, r *http.Request) answer {
	t.Helper()
	response, err := b.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{status: response.StatusCode, header: response.Header, body: string(got)}
}

// logBuffer keeps JSON log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// lines returns the logged lines with the given message.
func (l *logBuffer) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(l.String()) {
		var parsed map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &parsed))
		if parsed["msg"] == message {
			found = append(found, parsed)
		}
	}
	return found
}
