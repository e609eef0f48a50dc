package destination

import (
	"encoding/json"
	"os"
	"strings"
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
	old, renewed := secret.New("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), secret.New("raw:a raw secret")
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
	for given, want := range map[string]string{
		"":                                    "is empty",
		"raw:":                                "has nothing after raw:",
		"whsec_?%":                            "is not Base64 after whsec_",
		"whsec_YWJj":                          "spells 3 bytes after whsec_; allowed: 24 to 64",
		"whsec_" + strings.Repeat("YWJj", 22): "spells 66 bytes after whsec_; allowed: 24 to 64",
		"mysecretmysecret": "begins neither with whsec_, followed by Base64 of 24 to 64 bytes, nor with raw:; " +
			"libraries of receivers read every secret as Base64, and would verify with another key than these bytes",
		"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "begins neither with whsec_, followed by Base64 of 24 to 64 bytes, nor with raw:; " +
			"libraries of receivers read every secret as Base64, and would verify with another key than these bytes",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "",
		"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=": "spells 23 bytes after whsec_; allowed: 24 to 64",
		"raw:mysecretmysecret":                   "",
	} {
		if want == "" {
			require.NoError(t, CheckSigningSecret(secret.New(given)), given)
			continue
		}
		require.EqualError(t, CheckSigningSecret(secret.New(given)), want, given)
		_, err := newSigner([]secret.Value{secret.New("raw:fine"), secret.New(given)})
		require.EqualError(t, err, "secret 2 "+want, given)
	}
}

// raw: takes the bytes after it as the key, whatever they look like.
func TestSignWithRawBytes(t *testing.T) {
	t.Parallel()
	s, err := newSigner([]secret.Value{secret.New("raw:whsec_abc")})
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("whsec_abc")}, s.keys)
}
