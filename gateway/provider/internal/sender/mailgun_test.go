package sender

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestMailgunReplayToken checks that another event with the same signature has the same token, and
// that each new signature has a new token.
func TestMailgunReplayToken(t *testing.T) {
	t.Parallel()
	p := declared(t, Mailgun, provider.Options{})
	r := signed(t, p, prooftest.Secret, "", "evt_1")
	token := p.ReplayToken(r)
	require.NotEmpty(t, token)
	forged := *r
	forged.Body = prooftest.Must(sjson.SetBytes(r.Body, "event-data.id", "evt_2"))
	require.NoError(t, verify(t, p, prooftest.Secret, &forged))
	require.NotEqual(t, theEvent(t, p, r).ID, theEvent(t, p, &forged).ID)
	require.Equal(t, token, p.ReplayToken(&forged))
	require.NotEqual(t, token, p.ReplayToken(signed(t, p, prooftest.Secret, "", "evt_1")))
	require.NotEqual(t, token, p.ReplayToken(signed(t, p, prooftest.Secret, "inbound", "evt_1")))
	require.Empty(t, p.ReplayToken(&provider.Request{Header: http.Header{}, Body: []byte("{}")}))

	// Moving a digit from Mailgun's token to the time does not change the replay token.
	given, err := mailgunProofOf(r)
	require.NoError(t, err)
	moved := *r
	moved.Body = prooftest.Must(sjson.SetBytes(r.Body, "signature.timestamp", given.timestamp+given.token[:1]))
	moved.Body = prooftest.Must(sjson.SetBytes(moved.Body, "signature.token", given.token[1:]))
	require.Equal(t, token, p.ReplayToken(&moved))
}

// TestMailgunFormsHaveALimit reads a form with as many fields as allowed. A form with one more, and
// a form that is cut short, are refused.
func TestMailgunFormsHaveALimit(t *testing.T) {
	t.Parallel()
	part := "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
	fields, err := multipartFields([]byte(strings.Repeat(part, maxMailgunFields)+"--xx--"), "xx")
	require.NoError(t, err)
	require.Len(t, fields["a"], maxMailgunFields)
	for _, body := range []string{strings.Repeat(part, maxMailgunFields+1) + "--xx--", strings.Repeat(part, maxMailgunFields)} {
		_, err = multipartFields([]byte(body), "xx")
		require.ErrorContains(t, err, "not a multipart form")
	}
}

// TestMailgunProof checks that a flipped bit in the time, the token or the signature is refused.
func TestMailgunProof(t *testing.T) {
	t.Parallel()
	p := declared(t, Mailgun, provider.Options{Tolerance: -time.Second})
	r := signed(t, p, prooftest.Secret, "", "evt_1")
	given, err := mailgunProofOf(r)
	require.NoError(t, err)
	for name, value := range map[string]string{"timestamp": given.timestamp, "token": given.token, "signature": given.signature} {
		for bit := range len(value) * 8 {
			flipped := *r
			flipped.Body = prooftest.Must(sjson.SetBytes(r.Body, "signature."+name, prooftest.Flip(value, bit)))
			require.Error(t, verify(t, p, prooftest.Secret, &flipped), "%s: %q", name, prooftest.Flip(value, bit))
		}
	}
	for _, body := range []string{"", "hello", "[]"} {
		require.ErrorIs(t, p.Sign(&provider.Request{Header: http.Header{}, Body: []byte(body)}, secret.New(prooftest.Secret), prooftest.Now()), errMailgunBody)
	}
}
