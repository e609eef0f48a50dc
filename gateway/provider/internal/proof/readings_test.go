package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func mac(key []byte) [][]byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("body"))
	return [][]byte{m.Sum(nil)}
}

// read is a scheme with readings, and the spelling of a secret in each reading.
type read struct {
	readings []KeySpelling
	spelled  map[string]string // by encoding; the keys differ
}

func schemesWithReadings() map[string]read {
	return map[string]read{
		"standard webhooks": {
			[]KeySpelling{StandardSecret(), {Encoding: Raw}},
			map[string]string{"base64": "whsec_dGhlLWtleS1pbi1iYXNlNjQ", "raw": "whsec_dGhlLWtleS1hcy10ZXh0"},
		},
		"hmac": {
			[]KeySpelling{{Encoding: Raw}, {Encoding: Base64}, {Encoding: Hex}},
			map[string]string{"base64": "dGhlLWtleS1pbi1iYXNlNjQ=", "raw": "dGhlLWtleS1hcy10ZXh0", "hex": "7468652d6b65792d696e2d686578"},
		},
	}
}

// A secret that specifies its encoding verifies its own signatures, whatever the encoding of
// its source.
func TestASecretIsReadInItsOwnEncoding(t *testing.T) {
	t.Parallel()
	for name, scheme := range schemesWithReadings() {
		for _, own := range scheme.readings {
			own.Readings = NewReadings(scheme.readings...)
			for _, reading := range scheme.readings {
				text := secret.New(scheme.spelled[string(reading.Encoding)])
				key, err := reading.Key(text)
				require.NoError(t, err)
				spelled, err := own.SecretAs(text, string(reading.Encoding))
				require.NoError(t, err, "%s, %s as %s", name, reading.Encoding, own.Encoding)
				_, err = own.Match([]secret.Value{spelled}, mac(key), mac)
				require.NoError(t, err, "%s, %s as %s", name, reading.Encoding, own.Encoding)
			}
			_, err := own.SecretAs(secret.New("canary"), "base32")
			require.ErrorContains(t, err, `encoding is "base32"; allowed: `)
			require.NotContains(t, err.Error(), "canary")
			_, err = own.SecretAs(secret.New("can ary"), "base64")
			require.ErrorContains(t, err, "the secret is not base64")
			require.NotContains(t, err.Error(), "can ary")
		}
	}
}

// A signature that would match if the secret were read in another encoding is refused, and the
// error names that encoding, for the log. At most one error a second names an encoding, because
// unknown senders can send any number of such signatures.
func TestAWrongSignatureSaysHowItWouldFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, scheme := range schemesWithReadings() {
			for _, own := range scheme.readings {
				own.Readings = NewReadings(scheme.readings...)
				for _, reading := range scheme.readings {
					text := secret.New(scheme.spelled[string(reading.Encoding)])
					key, err := reading.Key(text)
					require.NoError(t, err)
					detail := func(given [][]byte) string {
						index, err := own.Match([]secret.Value{secret.New("dW5yZWxhdGVk"), text}, given, mac)
						if reading.Encoding == own.Encoding && err == nil {
							require.Equal(t, 1, index)
							return ""
						}
						var refused *provider.VerifyError
						require.ErrorAs(t, err, &refused)
						require.Equal(t, provider.ReasonWrongSignature, refused.Reason)
						return refused.Detail
					}
					if own.Encoding == reading.Encoding {
						require.Empty(t, detail(mac(key)))
						continue
					}
					if _, err := own.Key(text); err != nil {
						continue // the secret cannot be configured without its encoding
					}
					require.Empty(t, detail(mac([]byte("another key"))), name)
					require.Empty(t, detail(mac(key)), "the last comparison was less than a second ago")
					time.Sleep(time.Second) //nolint:forbidigo // the fake clock
					require.Contains(t, detail(mac(key)), "encoding: "+string(reading.Encoding), "%s, %s as %s", name, reading.Encoding, own.Encoding)
					time.Sleep(time.Second) //nolint:forbidigo // the fake clock
				}
			}
		}
	})
}
