package destination

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestSignPublishedVector(t *testing.T) {
	t.Parallel()
	var vector struct {
		Secret    string `json:"secret"`
		ID        string `json:"id"`
		Timestamp int64  `json:"timestamp"`
		Body      string `json:"body"`
		Signature string `json:"signature"`
	}
	content, err := os.ReadFile("testdata/standard_webhooks.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &vector))

	s, err := newSigner([]secret.Value{secret.New(vector.Secret)})
	require.NoError(t, err)
	timestamp, signature := s.sign(vector.ID, time.Unix(vector.Timestamp, 0), []byte(vector.Body))
	require.Equal(t, "1614265330", timestamp)
	require.Equal(t, vector.Signature, signature)
}

func TestSignWithEverySecretWhileTheyRotate(t *testing.T) {
	t.Parallel()
	old, renewed := secret.New("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), secret.New("a raw secret")
	var single []string
	for _, value := range []secret.Value{old, renewed} {
		s, err := newSigner([]secret.Value{value})
		require.NoError(t, err)
		_, signature := s.sign("msg_1", time.Unix(1, 0), []byte("body"))
		single = append(single, signature)
	}
	both, err := newSigner([]secret.Value{old, renewed})
	require.NoError(t, err)
	_, signature := both.sign("msg_1", time.Unix(1, 0), []byte("body"))
	require.Equal(t, single[0]+" "+single[1], signature)
}

func TestSignRefusesUnusableSecrets(t *testing.T) {
	t.Parallel()
	_, err := newSigner([]secret.Value{secret.New("whsec_%%%")})
	require.EqualError(t, err, "secret 1: what follows whsec_ is not Base64")
	_, err = newSigner([]secret.Value{secret.New("whsec_bWlzc2luZyBwYWRkaW5n"), secret.New("")})
	require.EqualError(t, err, "secret 2 is empty")
}
