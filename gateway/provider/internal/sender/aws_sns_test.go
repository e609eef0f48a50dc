package sender

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestSNSByCertificate verifies messages in the form that AWS sends: with a certificate from a host
// of SNS, for a topic that the source accepts.
func TestSNSByCertificate(t *testing.T) {
	t.Parallel()
	fetch := prooftest.Counted{Published: prooftest.PublishedSNS(), Fetched: map[string]int{}}
	p := declared(t, SNS, provider.Options{Fetch: fetch})
	topics := []secret.Value{secret.New("arn:aws:sns:us-east-1:123456789012:other"), secret.New(prooftest.SNSTopic)}
	require.NoError(t, p.CheckSecret(topics[1]))
	require.ErrorIs(t, p.CheckSecret(secret.New("orders")), errNoTopic)
	require.ErrorIs(t, p.Sign(p.Sample("", "", prooftest.Now()), topics[1], prooftest.Now()), errOnlyAWS)

	message := func(kind string) *provider.Request {
		r := p.Sample(kind, "m1", prooftest.Now())
		var err error
		r.Body, err = sjson.SetBytes(r.Body, "TopicArn", prooftest.SNSTopic)
		require.NoError(t, err)
		require.NoError(t, p.Sign(r, secret.New(prooftest.RSAPEM()), prooftest.Now()))
		return r
	}
	for range 3 {
		verified, err := p.Verify(t.Context(), message(snsNotification), topics, prooftest.Now())
		require.NoError(t, err)
		require.Equal(t, 1, verified.SecretIndex)
	}
	require.Equal(t, map[string]int{prooftest.SNSHost + "SimpleNotificationService-hooklatch.pem": 1}, fetch.Fetched, "fetched once")

	// Version 1 signs the same text with SHA-1.
	r := message(snsNotification)
	root, err := proof.ParseJSON(r.Body)
	require.NoError(t, err)
	signed, err := snsSigned(root)
	require.NoError(t, err)
	sum := sha1.Sum(signed)
	signature, err := prooftest.RSAKey().Sign(rand.Reader, sum[:], crypto.SHA1)
	require.NoError(t, err)
	r.Body = prooftest.Must(sjson.SetBytes(r.Body, "Signature", proof.Base64.Encode(signature)))
	_, err = p.Verify(t.Context(), r, topics, prooftest.Now())
	require.ErrorContains(t, err, string(provider.ReasonWrongSignature), "the signature is of another version")
	r.Body = prooftest.Must(sjson.SetBytes(r.Body, "SignatureVersion", "1"))
	_, err = p.Verify(t.Context(), r, topics, prooftest.Now())
	require.NoError(t, err)

	for _, field := range []string{"Message", "MessageId", "Subject", "Timestamp", "Type"} {
		r := message(snsNotification)
		value := map[string]string{"Type": snsGoodbye}[field]
		r.Body = prooftest.Must(sjson.SetBytes(r.Body, field, value+"x"))
		_, err := p.Verify(t.Context(), r, topics, prooftest.Now())
		require.Error(t, err, field)
	}
	// The host has no certificate at the URL.
	r = message(snsNotification)
	r.Body = bytes.Replace(r.Body, []byte("SimpleNotificationService-hooklatch"), []byte("SimpleNotificationService-gone"), 1)
	_, err = p.Verify(t.Context(), r, topics, prooftest.Now())
	requireRefusal(t, provider.ReasonForeignURL, err)
}

// TestSNSConfirmation checks that each signed confirmation's URL is called, without a cache.
func TestSNSConfirmation(t *testing.T) {
	t.Parallel()
	fetch := prooftest.Counted{Published: prooftest.PublishedSNS(), Fetched: map[string]int{}}
	p := declared(t, SNS, provider.Options{Fetch: fetch})
	confirm := prooftest.SNSHost + "?Action=ConfirmSubscription&TopicArn=" + prooftest.SNSTopic + "&Token=t"
	r := p.Sample(snsConfirmation, "m1", prooftest.Now())
	r.Body = prooftest.Must(sjson.SetBytes(r.Body, "TopicArn", prooftest.SNSTopic))
	r.Body = prooftest.Must(sjson.SetBytes(r.Body, "SubscribeURL", confirm))
	require.NoError(t, p.Sign(r, secret.New(prooftest.RSAPEM()), prooftest.Now()))
	topics := []secret.Value{secret.New(prooftest.SNSTopic)}
	for i := range 2 {
		answer, err := p.Handshake(t.Context(), r, topics, prooftest.Now())
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status)
		require.Equal(t, i+1, fetch.Fetched[confirm])
	}
	delete(fetch.Published, confirm)
	_, err := p.Handshake(t.Context(), r, topics, prooftest.Now())
	require.ErrorContains(t, err, "confirm the subscription")
	require.NotErrorAs(t, err, new(*provider.VerifyError), "SNS must retry")
}

func FuzzSNS(f *testing.F) {
	f.Add([]byte(`{"Type":"Notification","Message":"a\nb","MessageId":"m"}`), []byte(`{"Type":"Notification","Message":"a","MessageId":"b"}`))
	f.Add([]byte(`{"Type":"Notification","Message":"a\nMessageId\nm","MessageId":"m","Timestamp":"t","TopicArn":"a"}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ids := func(body []byte) ([]byte, string) {
			root, err := proof.ParseJSON(body)
			if err != nil {
				return nil, ""
			}
			signed, err := snsSigned(root)
			if err != nil {
				require.IsType(t, &provider.VerifyError{}, err)
				return nil, ""
			}
			id, _ := proof.Scalar(proof.Lookup(root, "/MessageId"))
			return signed, id
		}
		signedA, idA := ids(a)
		signedB, idB := ids(b)
		if signedA != nil && bytes.Equal(signedA, signedB) {
			require.Equal(t, idA, idB, "texts with the same signature have the same id")
		}
	})
}
