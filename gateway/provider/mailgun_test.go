package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestMailgunReplayToken finds the same token under another event, which the
// signature does not notice, and another token with each signature.
func TestMailgunReplayToken(t *testing.T) {
	t.Parallel()
	p := provide(t, "mailgun", Options{})
	r := signedSample(t, p, "", "evt_1")
	token := p.ReplayToken(r)
	require.NotEmpty(t, token)
	forged := *r
	forged.Body = prooftest.Must(sjson.SetBytes(r.Body, "event-data.id", "evt_2"))
	require.NoError(t, verifies(t, p, &forged))
	require.NotEqual(t, eventOf(t, p, r).ID, eventOf(t, p, &forged).ID)
	require.Equal(t, token, p.ReplayToken(&forged))
	require.NotEqual(t, token, p.ReplayToken(signedSample(t, p, "", "evt_1")))
	require.NotEqual(t, token, p.ReplayToken(signedSample(t, p, "inbound", "evt_1")))
	require.Empty(t, p.ReplayToken(&Request{Header: http.Header{}, Body: []byte("{}")}))

	// A digit moved from the token to the time is no other token.
	proof, err := mailgunProofOf(r)
	require.NoError(t, err)
	moved := *r
	moved.Body = prooftest.Must(sjson.SetBytes(r.Body, "signature.timestamp", proof.timestamp+proof.token[:1]))
	moved.Body = prooftest.Must(sjson.SetBytes(moved.Body, "signature.token", proof.token[1:]))
	require.Equal(t, token, p.ReplayToken(&moved))
}

// TestMailgunProof flips bits of what is signed.
func TestMailgunProof(t *testing.T) {
	t.Parallel()
	p := provide(t, "mailgun", Options{Tolerance: -time.Second})
	r := signedSample(t, p, "", "evt_1")
	proof, err := mailgunProofOf(r)
	require.NoError(t, err)
	for name, value := range map[string]string{"timestamp": proof.timestamp, "token": proof.token, "signature": proof.signature} {
		for bit := range len(value) * 8 {
			flipped := *r
			flipped.Body = prooftest.Must(sjson.SetBytes(r.Body, "signature."+name, prooftest.Flip(value, bit)))
			require.Error(t, verifies(t, p, &flipped), "%s: %q", name, prooftest.Flip(value, bit))
		}
	}
	for _, body := range []string{"", "hello", "[]"} {
		require.ErrorIs(t, p.Sign(&Request{Header: http.Header{}, Body: []byte(body)}, keyOf(p), prooftest.Now()), errMailgunBody)
	}
}

func FuzzMailgunForm(f *testing.F) {
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\na\r\n--x--\r\n"), "multipart/form-data; boundary=x")
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=\"recipient\"; filename=\"a\"\r\n\r\na\r\n--x--\r\n"), `multipart/form-data; boundary="x"`)
	f.Add([]byte("token=a&recipient=b&Message-Id=c"), formType)
	f.Add([]byte("--x"), "multipart/form-data")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		p := provide(t, "mailgun", Options{})
		r := sample(body, contentType)
		require.IsType(t, &VerifyError{}, verifies(t, p, r))
		requireSound(t, p, r)
		p.ReplayToken(r)
	})
}
