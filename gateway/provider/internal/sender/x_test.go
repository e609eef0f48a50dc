package sender

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestCheckSignsNoEvent makes X's check sign arbitrary tokens. Anyone can deliver a token as a
// body, with the signature that the check made for the token. No such token may therefore be an
// event.
func TestCheckSignsNoEvent(t *testing.T) {
	t.Parallel()
	p := declared(t, X, provider.Options{})
	secrets := []secret.Value{secret.New(prooftest.Secret)}
	tokens := rapid.OneOf(
		rapid.StringMatching(`[-_.~+/=0-9A-Za-z]{1,80}`), rapid.StringMatching(`[ \t]*[\[{"].*`), rapid.String(),
		rapid.SampledFrom([]string{"null", "true", "0", "-1", "1e5", `{"data":{"event_uuid":"1","event_type":"a"}}`, "[]", `""`}),
	)
	rapid.Check(t, func(t *rapid.T) {
		token := tokens.Draw(t, "token")
		u := *prooftest.Must(url.Parse("https://hooks.example.com/webhooks/x?" + url.Values{"crc_token": {token}}.Encode()))
		answer, err := p.Handshake(t.Context(), &provider.Request{Method: http.MethodGet, URL: &u}, secrets, prooftest.Now())
		if err != nil {
			require.Nil(t, answer)
			require.IsType(t, &provider.EventError{}, err)
			return
		}
		var body struct {
			ResponseToken string `json:"response_token"`
		}
		require.NoError(t, json.Unmarshal(answer.Body, &body))
		forged := &provider.Request{
			Method: http.MethodPost, URL: &u, Body: []byte(token),
			Header: http.Header{"X-Twitter-Webhooks-Signature": {body.ResponseToken}},
		}
		_, err = p.Verify(t.Context(), forged, secrets, prooftest.Now())
		require.NoError(t, err)
		_, err = p.Events(forged)
		require.IsType(t, &provider.EventError{}, err)
	})
}
