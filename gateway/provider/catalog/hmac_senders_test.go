package catalog

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestHMACExpressesEverySender verifies requests from known senders with configuration alone.
// Another program (Python's hmac) signed the requests in testdata/senders.json as the senders'
// documentation describes.
func TestHMACExpressesEverySender(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/senders.json")
	require.NoError(t, err)
	var senders []struct {
		Name    string            `json:"name"`
		Options json.RawMessage   `json:"options"`
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		URL     string            `json:"url"`
		Body    string            `json:"body"`
	}
	require.NoError(t, json.Unmarshal(text, &senders))
	require.Len(t, senders, 38)
	for _, s := range senders {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var o provider.Options
			require.NoError(t, yaml.UnmarshalWithOptions(s.Options, &o, yaml.Strict()))
			p, err := New("hmac", o)
			require.NoError(t, err)
			key := secret.New(s.Secret)
			r := &provider.Request{Method: http.MethodPost, URL: prooftest.URL(s.URL), Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(s.Body)}
			for name, value := range s.Headers {
				r.Header.Set(name, value)
			}
			_, err = p.Verify(t.Context(), r, []secret.Value{key}, prooftest.Now())
			require.NoError(t, err)
			events, err := p.Events(r)
			require.NoError(t, err)
			require.Len(t, events, 1)
			require.Equal(t, "demo.created", events[0].Type)

			// A signed part cannot be changed, and a signed time expires.
			r.Body = []byte(s.Body + " ")
			_, err = p.Verify(t.Context(), r, []secret.Value{key}, prooftest.Now())
			require.ErrorContains(t, err, string(provider.ReasonWrongSignature))
			r.Body = []byte(s.Body)
			if strings.Contains(o.Template, "{ts}") {
				_, err = p.Verify(t.Context(), r, []secret.Value{key}, prooftest.Now().Add(time.Hour))
				require.ErrorContains(t, err, string(provider.ReasonOldTimestamp))
			}
			require.NoError(t, p.Sign(r, key, prooftest.Now().Add(time.Minute)))
			_, err = p.Verify(t.Context(), r, []secret.Value{key}, prooftest.Now().Add(time.Minute))
			require.NoError(t, err, "our own signature is verified too")
		})
	}
}
