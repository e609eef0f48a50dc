package catalog

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// vector is a published test vector: testdata/vectors.json names the source of
// each.
type vector struct {
	Provider  string            `json:"provider"`
	Name      string            `json:"name"`
	Secret    string            `json:"secret"`
	Wrong     string            `json:"wrong_secret"` // default: one that fits most
	Method    string            `json:"method"`       // default: POST
	URL       string            `json:"url"`
	Challenge string            `json:"challenge"` // query of a handshake that is answered with the signature
	Params    map[string]string `json:"params"`
	Timestamp int64             `json:"timestamp"`
	Headers   map[string]string `json:"headers"`
	Body      string            `json:"body"`
	Signature string            `json:"signature"`
}

func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.GreaterOrEqual(t, len(vectors), 8)
	for _, v := range vectors {
		t.Run(v.Provider+"/"+v.Name, func(t *testing.T) {
			t.Parallel()
			p, err := New(v.Provider, provider.Options{})
			require.NoError(t, err)
			if v.Challenge != "" {
				r := &provider.Request{Method: http.MethodGet, URL: prooftest.URL(v.Challenge), Header: http.Header{}}
				answer, err := p.Handshake(t.Context(), r, []secret.Value{secret.New(v.Secret)}, prooftest.Now())
				require.NoError(t, err)
				require.Equal(t, v.Signature, string(answer.Body))
				return
			}
			r, now := v.request(t)
			wrong := secret.New(cmp.Or(v.Wrong, "bm90IGl0"))

			verified, err := p.Verify(t.Context(), r, []secret.Value{wrong, secret.New(v.Secret)}, now)
			require.NoError(t, err)
			require.Equal(t, 1, verified.SecretIndex)

			_, err = p.Verify(t.Context(), r, []secret.Value{wrong}, now)
			require.ErrorContains(t, err, string(provider.ReasonWrongSignature))
		})
	}
}

func (v vector) request(t *testing.T) (*provider.Request, time.Time) {
	t.Helper()
	r := &provider.Request{Method: cmp.Or(v.Method, http.MethodPost), URL: prooftest.URL(v.URL), Header: http.Header{}, Body: []byte(v.Body)}
	r.Header.Set("Content-Type", "application/json")
	if v.Signature != "" {
		p := provide(t, v.Provider, provider.Options{})
		r.Header.Set(signatureHeader(t, p, r, secret.New(v.Secret)), v.Signature)
	}
	for name, value := range v.Headers {
		r.Header.Set(name, value)
	}
	now := time.Unix(v.Timestamp, 0)
	switch v.Provider {
	case "slack":
		r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(v.Timestamp, 10))
	case "standard-webhooks":
		seconds, err := strconv.ParseInt(v.Headers["webhook-timestamp"], 10, 64)
		require.NoError(t, err)
		now = time.Unix(seconds, 0)
	case "twitch":
		var err error
		now, err = time.Parse(time.RFC3339Nano, v.Headers["twitch-eventsub-message-timestamp"])
		require.NoError(t, err)
	case "twilio":
		if v.Params != nil {
			form := url.Values{}
			for name, value := range v.Params {
				form.Set(name, value)
			}
			r.Body = []byte(form.Encode())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	return r, now
}
