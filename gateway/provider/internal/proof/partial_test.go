package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// If a part of a signature or a token were accepted, an attacker could guess the whole byte by
// byte.
func TestAPartOfASignatureProvesNothing(t *testing.T) {
	t.Parallel()
	secrets := []secret.Value{secret.New("the old secret"), secret.New("the new secret")}
	sign := func(key []byte) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("what is signed"))
		return mac.Sum(nil)
	}
	match := func(signature []byte) (int, error) {
		return KeySpelling{Encoding: Raw}.Match(secrets, [][]byte{signature}, func(key []byte) [][]byte { return [][]byte{sign(key)} })
	}
	token := &StaticToken{Header: "X-Token"}
	for i, s := range secrets {
		whole := sign([]byte(s.Reveal()))
		index, err := match(whole)
		require.NoError(t, err)
		require.Equal(t, i, index)
		for length := range whole {
			_, err := match(whole[:length])
			require.Equal(t, &provider.VerifyError{Reason: provider.ReasonWrongSignature}, err, "%d bytes of it", length)
		}
		_, err = match(append(whole, 0))
		require.Error(t, err)

		index, err = token.Match(secrets, s.Reveal())
		require.NoError(t, err)
		require.Equal(t, i, index)
		for length := range len(s.Reveal()) {
			_, err := token.Match(secrets, s.Reveal()[:length])
			require.Equal(t, &provider.VerifyError{Reason: provider.ReasonWrongToken}, err, "%d bytes of it", length)
		}
		_, err = token.Match(secrets, s.Reveal()+"\x00")
		require.Error(t, err)
	}
}

// If one header contained two timestamps, the signature could cover one, and the check of the
// tolerance could use the other.
func TestASecondTimeIsRefused(t *testing.T) {
	t.Parallel()
	pairs := &Pairs{Separator: ",", Assign: "=", Signature: "v1", Timestamp: "t"}
	_, timestamp, err := pairs.read("t=1700000000,v1=ab")
	require.NoError(t, err)
	require.Equal(t, "1700000000", timestamp)
	for _, header := range []string{"t=1,v1=ab,t=1700000000", "t=1700000000,t=1,v1=ab", "t=,v1=ab,t=1700000000"} {
		_, _, err := pairs.read(header)
		var refused *provider.VerifyError
		require.ErrorAs(t, err, &refused, header)
		require.Equal(t, provider.ReasonMalformedTimestamp, refused.Reason, header)
	}
}
