package destination

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// vector is a message and its signature by another implementation.
type vector struct {
	Source    string
	Secret    string
	Public    string // public half of a key pair, if also published
	ID        string
	Timestamp int64
	Body      string
	Signature string
}

func publishedVectors(t *testing.T) []vector {
	t.Helper()
	var vectors []vector
	content, err := os.ReadFile("testdata/standard_webhooks.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &vectors))
	return vectors
}

func TestSignPublishedVectors(t *testing.T) {
	t.Parallel()
	for _, v := range publishedVectors(t) {
		s, err := newSigner([]secret.Value{secret.New(v.Secret)})
		require.NoError(t, err, v.Source)
		timestamp, signature := s.sign(v.ID, time.Unix(v.Timestamp, 0), []byte(v.Body))
		require.Equal(t, "1614265330", timestamp, v.Source)
		require.Equal(t, v.Signature, signature, v.Source)
		if v.Public != "" {
			require.Equal(t, v.Public, SigningPublicKey(secret.New(v.Secret)), v.Source)
		}
	}
}

// The result of SigningPublicKey verifies the signatures of Hooklatch's messages, and of no other
// messages.
func TestSignaturesVerifyWithThePublicKey(t *testing.T) {
	t.Parallel()
	private := secret.New("whsk_" + base64.StdEncoding.EncodeToString([]byte("a seed with its thirty-two bytes")))
	encoded, ok := strings.CutPrefix(SigningPublicKey(private), "whpk_")
	require.True(t, ok)
	public, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	s, err := newSigner([]secret.Value{private})
	require.NoError(t, err)

	timestamp, signature := s.sign("hl_1", time.Unix(1_700_000_000, 0), []byte(`{"a":1}`))
	made, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1a,"))
	require.NoError(t, err)
	require.True(t, ed25519.Verify(public, []byte(`hl_1.1700000000.{"a":1}`), made))
	require.Equal(t, "1700000000", timestamp)
	for _, other := range []string{`hl_1.1700000000.{"a":2}`, `hl_2.1700000000.{"a":1}`, `hl_1.1700000001.{"a":1}`} {
		require.False(t, ed25519.Verify(public, []byte(other), made), other)
	}
	for _, shared := range []string{"raw:secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "", "whsk_AA=="} {
		require.Empty(t, SigningPublicKey(secret.New(shared)), "%q", shared)
	}
}

func TestSignWithEverySecretWhileTheyRotate(t *testing.T) {
	t.Parallel()
	secrets := []secret.Value{
		secret.New("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), secret.New("raw:a raw secret"),
		secret.New("whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk="), // both schemes together
		secret.New("whsk_V0VCSE9PS0FTWU1NRVRSSUNURVNUUFJJVkFURUtFWTE="),
	}
	var single []string
	for _, value := range secrets {
		s, err := newSigner([]secret.Value{value})
		require.NoError(t, err)
		_, signature := s.sign("msg_1", time.Unix(1, 0), []byte("body"))
		single = append(single, signature)
	}
	all, err := newSigner(secrets)
	require.NoError(t, err)
	_, signature := all.sign("msg_1", time.Unix(1, 0), []byte("body"))
	require.Equal(t, strings.Join(single, " "), signature)
}

func TestSignRefusesUnusableSecrets(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                    "is empty",
		"raw:":                                "has nothing after raw:",
		"whsec_?%":                            "is not Base64 after whsec_",
		"whsec_YWJj":                          "decodes to 3 bytes after whsec_; allowed: 24 to 64 bytes",
		"whsec_" + strings.Repeat("YWJj", 22): "decodes to 66 bytes after whsec_; allowed: 24 to 64 bytes",
		"mysecretmysecret": "begins neither with whsec_, followed by Base64 of 24 to 64 bytes, nor with whsk_, nor with raw:; " +
			"libraries of receivers decode every secret as Base64, and would verify with a different key",
		"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "begins neither with whsec_, followed by Base64 of 24 to 64 bytes, nor with whsk_, nor with raw:; " +
			"libraries of receivers decode every secret as Base64, and would verify with a different key",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw":           "",
		"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=":           "decodes to 23 bytes after whsec_; allowed: 24 to 64 bytes",
		"raw:mysecretmysecret":                             "",
		"whsk_":                                            "decodes to 0 bytes after whsk_; an Ed25519 private key has 32 bytes, or 64 with the public key appended",
		"whsk_?%":                                          "is not Base64 after whsk_",
		"whsk_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz":            "decodes to 24 bytes after whsk_; an Ed25519 private key has 32 bytes, or 64 with the public key appended",
		"whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk": "", // unpadded
		// The published key, with some bytes of its second half changed.
		"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlaaaaaaaaaaAJ6p9lMicMFs6Kvg==": "has a public key after the " +
			"private one that does not belong to it",
		"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=": "is a public key, with which the receiver verifies; requests are signed " +
			"with the private key, whsk_",
	} {
		secrets := []secret.Value{secret.New("raw:fine"), secret.New(given)}
		sign := &Sign{StandardWebhooks: secrets}
		if want == "" {
			require.NoError(t, sign.validate(), given)
			continue
		}
		hint := "; if the receiver takes the bytes as they are, write raw:THE-SECRET"
		if strings.HasPrefix(given, "whsk_") || strings.HasPrefix(given, "whpk_") {
			hint = ""
		}
		require.EqualError(t, sign.validate(), "standard_webhooks[1]: secret 2 "+want+hint, given)
		_, err := newSigner(secrets)
		require.EqualError(t, err, want, given)
	}
}

// Any bytes after raw: are the key.
func TestSignWithRawBytes(t *testing.T) {
	t.Parallel()
	s, err := newSigner([]secret.Value{secret.New("raw:whsec_abc")})
	require.NoError(t, err)
	require.Equal(t, []signingKey{symmetricKey("whsec_abc")}, s.keys)
}
