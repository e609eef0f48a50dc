package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	path := func(p string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = p } }
	tests := []struct {
		name   string
		body   string
		change func(*http.Request)
		status int
		answer string
	}{
		{"one event", `{"id":"a","type":"x"}`, nil, 200, `{"status":"accepted","events":1,"duplicates":0}`},
		{"no event", `{"events":[]}`, nil, 200, `{"status":"empty","events":0,"duplicates":0}`},
		{"identity encoding", `{"id":"b","type":"x"}`, header("Content-Encoding", "Identity"), 200, `{"status":"accepted","events":1,"duplicates":0}`},
		{"no signature", `{"id":"a"}`, header("X-Signature", ""), 401, `{"error":"unauthorized"}`},
		{"wrong signature", `{"id":"a"}`, header("X-Signature", "00"), 401, `{"error":"unauthorized"}`},
		{"unknown source", `{}`, path("/webhooks/nobody"), 404, `{"error":"no such source"}`},
		{"source with more path", `{}`, path("/webhooks/orders/more"), 404, `{"error":"no such source"}`},
		{"unknown path", `{}`, path("/elsewhere"), 404, `{"error":"Not Found"}`},
		{"no source", `{}`, path("/webhooks/"), 404, `{"error":"Not Found"}`},
		{"get", ``, method(http.MethodGet), 405, `{"error":"use POST"}`},
		{"options", ``, method(http.MethodOptions), 405, `{"error":"use POST"}`},
		{"method of our own", ``, method("BREW"), 405, `{"error":"use POST"}`},
		{"gzip", `{}`, header("Content-Encoding", "gzip"), 415, `{"error":"send the body without content encoding; to accept gzip, set gzip of the source"}`},
		{"two encodings", `{}`, header("Content-Encoding", "identity, gzip"), 415, `{"error":"send the body without content encoding; to accept gzip, set gzip of the source"}`},
		{"too large", strings.Repeat("x", 5000), nil, 413, `{"error":"the body has more than 4096 bytes"}`},
		{"not JSON", `nonsense`, nil, 400, `{"error":"the body is not JSON"}`},
		{"empty body", ``, nil, 400, `{"error":"the body is not JSON"}`},
		{"no id", `{"type":"x"}`, nil, 422, `{"error":"the event has no id"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *gateway.Options) { o.MaxBody = 4096 })
			got := b.post(t, "orders", test.body, func(r *http.Request) {
				if test.change != nil {
					test.change(r)
				}
			})
			require.Equal(t, test.status, got.status)
			require.Equal(t, test.answer, got.body)
			require.Equal(t, "application/json", got.header.Get("Content-Type"))
			require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			if test.status == http.StatusMethodNotAllowed {
				require.Equal(t, "POST", got.header.Get("Allow"))
			}
			if test.status != http.StatusOK {
				require.Empty(t, b.accepter.all(), "refused deliveries are not stored (I3)")
				require.Empty(t, got.header.Get(gateway.StatusHeader))
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	got := b.post(t, "orders", `{"id":"a","type":"x"}`)
	require.Equal(t, "accepted", got.header.Get(gateway.StatusHeader))
	got = b.post(t, "orders", `{"id":"a","type":"x"}`)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"status":"duplicate","events":1,"duplicates":1}`, got.body)
	require.Equal(t, "duplicate", got.header.Get(gateway.StatusHeader))
	got = b.post(t, "orders", `{"events":[{"id":"a","type":"x"},{"id":"b","type":"x"},{"id":"b","type":"x"}]}`)
	require.Equal(t, `{"status":"accepted","events":3,"duplicates":2}`, got.body)
	require.Equal(t, "accepted", got.header.Get(gateway.StatusHeader))
	got = b.post(t, "orders", `{"events":[]}`)
	require.Equal(t, "empty", got.header.Get(gateway.StatusHeader))
}

func TestDeliveryAsGivenToAccepter(t *testing.T) {
	t.Parallel()
	at := testNow.Add(-time.Hour)
	p := signer()
	p.Events = func(*provider.Request) ([]provider.Event, error) {
		return []provider.Event{{ID: "a", Type: "x", APIVersion: "2026-01", OccurredAt: at, Item: "/events/0"}}, nil
	}
	b := setup(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{source("orders", p)}
		o.Sources[0].Handlers = true
	})
	body := "{\"a\":1,\"a\":1e400,\"z\":\"\\u0000\xff\"}\r\n"
	got := b.post(t, "orders", body, func(r *http.Request) {
		r.Header["X-Many"] = []string{"1", "2"}
		for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie", "X-Api-Token"} {
			r.Header.Set(name, "hidden")
		}
	})
	require.Equal(t, http.StatusOK, got.status)

	deliveries := b.accepter.all()
	require.Len(t, deliveries, 1)
	d := deliveries[0]
	require.EqualValues(t, "orders", d.Source)
	require.Equal(t, "signer", d.Provider)
	require.Equal(t, "application/json", d.ContentType)
	require.Equal(t, []byte(body), d.Body, "the body is stored byte for byte (I1)")
	require.Equal(t, []outbox.Incoming{{ID: "a", Type: "x", APIVersion: "2026-01", OccurredAt: at, Item: "/events/0"}}, d.Events)
	require.True(t, d.Handlers)
	require.Equal(t, []string{"1", "2"}, d.Headers["X-Many"])
	require.NotEmpty(t, d.Headers["X-Signature"])
	for name, values := range d.Headers {
		require.NotContains(t, values, "hidden", name)
	}
}

func TestAcceptErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		err    error
		status int
		reason string
	}{
		{"busy", outbox.ErrBusy, 503, "busy"},
		{"unavailable", fmt.Errorf("accept events: %w", outbox.ErrUnavailable), 503, "database"},
		{"closed", outbox.ErrClosed, 503, "closed"},
		{"unknown", errors.New("something new"), 503, "accept_error"},
		{"cancelled", context.Canceled, 503, "accept_error"},
		{"invalid", fmt.Errorf("accept events: %w", &outbox.InvalidEventError{Field: "event id", Reason: "is too long"}), 422, "invalid_event"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			b.accepter.before = func(context.Context, outbox.Delivery) error { return test.err }
			got := b.post(t, "orders", `{"id":"a","type":"x"}`)
			require.Equal(t, test.status, got.status)
			if test.status == http.StatusServiceUnavailable {
				requireRetryAfter(t, got)
				require.Equal(t, `{"error":"unavailable, try again later"}`, got.body)
			} else {
				require.Equal(t, `{"error":"event id is too long"}`, got.body)
			}
			require.Contains(t, b.logs.String(), `"reason":"`+test.reason+`"`)

			b.accepter.before = nil
			require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"a","type":"x"}`).status, "the gateway recovers by itself")
		})
	}
}

func requireRetryAfter(t *testing.T, got answer) {
	t.Helper()
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, seconds, 1)
	require.LessOrEqual(t, seconds, 5)
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	p := signer()
	p.Methods = []string{http.MethodPost, http.MethodGet}
	p.Handshake = func(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
		switch challenge := r.URL.Query().Get("challenge"); challenge {
		case "":
			return nil, nil
		case "forged":
			return nil, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
		case "empty":
			return nil, &provider.EventError{Message: "no challenge"}
		default:
			return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain", Body: []byte(challenge)}, nil
		}
	}
	b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", p)} })
	ask := func(challenge string) answer {
		return b.post(t, "orders", `{"id":"a","type":"x"}`, func(r *http.Request) {
			r.Method, r.URL.RawQuery = http.MethodGet, "challenge="+challenge
		})
	}
	got := ask("<b>hi</b>")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "<b>hi</b>", got.body)
	require.Equal(t, "text/plain", got.header.Get("Content-Type"))
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Equal(t, http.StatusUnauthorized, ask("forged").status)
	require.Equal(t, http.StatusUnprocessableEntity, ask("empty").status)
	require.Empty(t, b.accepter.all(), "a handshake stores nothing")
	require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"a","type":"x"}`).status)
	require.Len(t, b.accepter.all(), 1)
}

func TestAnswerOfProvider(t *testing.T) {
	t.Parallel()
	p := signer()
	p.Answer = func(r *provider.Request) *provider.Answer {
		switch r.Header.Get("Accept") {
		case "text/xml":
			return &provider.Answer{Status: http.StatusOK, ContentType: "text/xml", Body: []byte("<Response/>")}
		case "nothing":
			return &provider.Answer{Status: http.StatusNoContent}
		}
		return nil
	}
	b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", p)} })
	accept := func(kind string) answer {
		return b.post(t, "orders", `{"id":"a","type":"x"}`, func(r *http.Request) { r.Header.Set("Accept", kind) })
	}
	got := accept("text/xml")
	require.Equal(t, "<Response/>", got.body)
	require.Equal(t, "text/xml", got.header.Get("Content-Type"))
	require.Equal(t, "accepted", got.header.Get(gateway.StatusHeader))
	got = accept("nothing")
	require.Equal(t, http.StatusNoContent, got.status)
	require.Empty(t, got.body)
	require.Equal(t, "duplicate", got.header.Get(gateway.StatusHeader))
	require.JSONEq(t, `{"status":"duplicate","events":1,"duplicates":1}`, accept("json").body)
}

func TestFaultsOfProviderFailClosed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		spoil  func(*provider.Provider)
		status int
	}{
		{"verify panics", func(p *provider.Provider) {
			p.Verify = func(context.Context, *provider.Request, []secret.Value, time.Time) (provider.Verified, error) {
				panic("quotes " + testSecret)
			}
		}, 500},
		{"verify breaks", func(p *provider.Provider) {
			p.Verify = func(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (provider.Verified, error) {
				return provider.Verified{SecretIndex: int(r.Body[len(r.Body)])}, nil
			}
		}, 500},
		{"key is away", func(p *provider.Provider) {
			p.Verify = func(context.Context, *provider.Request, []secret.Value, time.Time) (provider.Verified, error) {
				return provider.Verified{}, errors.New("fetch key: timeout")
			}
		}, 503},
		{"handshake panics", func(p *provider.Provider) {
			p.Handshake = func(context.Context, *provider.Request, []secret.Value, time.Time) (*provider.Answer, error) {
				panic(errors.New(testSecret))
			}
		}, 500},
		{"events panics", func(p *provider.Provider) {
			p.Events = func(*provider.Request) ([]provider.Event, error) { panic(42) }
		}, 500},
		{"events fails otherwise", func(p *provider.Provider) {
			p.Events = func(*provider.Request) ([]provider.Event, error) { return nil, errors.New("bug") }
		}, 500},
		{"answer panics", func(p *provider.Provider) {
			p.Answer = func(*provider.Request) *provider.Answer { panic("bug") }
		}, 500},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := signer()
			test.spoil(p)
			b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", p), source("sound", signer())} })
			got := b.post(t, "orders", `{"id":"a","type":"x"}`)
			require.Equal(t, test.status, got.status)
			require.Empty(t, b.accepter.all())
			if test.status == http.StatusServiceUnavailable {
				requireRetryAfter(t, got)
			} else {
				require.Equal(t, `{"error":"internal error"}`, got.body)
			}
			lines := b.logs.lines(t, "delivery not accepted")
			require.Len(t, lines, 1)
			require.NotContains(t, b.logs.String(), testSecret)
			if strings.Contains(test.name, "panics") {
				require.Contains(t, lines[0]["err"], "TestFaultsOfProviderFailClosed", "the log line contains the stack")
			}
			require.Equal(t, http.StatusOK, b.post(t, "sound", `{"id":"a","type":"x"}`).status)
		})
	}
}

func TestAccepterThatLosesEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *gateway.Options) { o.Accepter = forgetful{} })
	require.Equal(t, http.StatusInternalServerError, b.post(t, "orders", `{"id":"a","type":"x"}`).status)
}

type forgetful struct{}

func (forgetful) Accept(context.Context, outbox.Delivery) (outbox.Acceptance, error) {
	return outbox.Acceptance{}, nil
}
