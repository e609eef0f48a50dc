package provider

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	snsTestTopic = "arn:aws:sns:us-east-1:123456789012:orders"
	snsTestHost  = "https://sns.us-east-1.amazonaws.com/"
)

// publishedSNS publishes certificates, and takes a confirmation.
func publishedSNS() published {
	return published{
		snsTestHost + "SimpleNotificationService-hooklatch.pem":                           certificateOf(rsaKey(), testNow.AddDate(1, 0, 0)),
		snsTestHost + "SimpleNotificationService-old.pem":                                 certificateOf(rsaKey(), testNow.Add(-time.Second)),
		snsTestHost + "SimpleNotificationService-ecdsa.pem":                               certificateOf(ecdsaKey(), testNow.AddDate(1, 0, 0)),
		snsTestHost + "SimpleNotificationService-none.pem":                                []byte("hello"),
		snsTestHost + "?Action=ConfirmSubscription&TopicArn=" + snsTestTopic + "&Token=t": []byte("<ConfirmSubscriptionResponse/>"),
	}
}

// certificateOf is a certificate of a key that vouches for itself.
func certificateOf(key crypto.Signer, until time.Time) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, NotBefore: testNow.AddDate(-1, 0, 0), NotAfter: until}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// counted counts what is fetched.
type counted struct {
	published

	fetched map[string]int
}

// RoundTrip implements http.RoundTripper. The tests fetch one after the other.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.fetched[r.URL.String()]++
	return c.published.RoundTrip(r)
}

// TestSNSByCertificate proves messages as AWS sends them: by a certificate of
// its host, for a topic of ours.
func TestSNSByCertificate(t *testing.T) {
	t.Parallel()
	fetch := counted{published: publishedSNS(), fetched: map[string]int{}}
	p := provide(t, "aws-sns", Options{Fetch: fetch})
	topics := []secret.Value{secret.New("arn:aws:sns:us-east-1:123456789012:other"), secret.New(snsTestTopic)}
	require.NoError(t, p.CheckSecret(topics[1]))
	require.ErrorIs(t, p.CheckSecret(secret.New("orders")), errNoTopic)
	require.ErrorIs(t, p.Sign(p.Sample("", "", testNow), topics[1], testNow), errOnlyAWS)

	message := func(kind string) *Request {
		r := p.Sample(kind, "m1", testNow)
		var err error
		r.Body, err = sjson.SetBytes(r.Body, "TopicArn", snsTestTopic)
		require.NoError(t, err)
		require.NoError(t, p.Sign(r, secret.New(rsaPEM()), testNow))
		return r
	}
	for range 3 {
		verified, err := p.Verify(t.Context(), message(snsNotification), topics, testNow)
		require.NoError(t, err)
		require.Equal(t, 1, verified.SecretIndex)
	}
	require.Equal(t, map[string]int{snsTestHost + "SimpleNotificationService-hooklatch.pem": 1}, fetch.fetched, "fetched once")

	// Version 1 is the same with SHA-1.
	r := message(snsNotification)
	root, err := parseJSON(r.Body)
	require.NoError(t, err)
	signed, err := snsSigned(root)
	require.NoError(t, err)
	sum := sha1.Sum(signed)
	signature, err := rsaKey().Sign(rand.Reader, sum[:], crypto.SHA1)
	require.NoError(t, err)
	r.Body = must(sjson.SetBytes(r.Body, "Signature", base64Std.encode(signature)))
	_, err = p.Verify(t.Context(), r, topics, testNow)
	require.ErrorContains(t, err, string(ReasonWrongSignature), "of another version")
	r.Body = must(sjson.SetBytes(r.Body, "SignatureVersion", "1"))
	_, err = p.Verify(t.Context(), r, topics, testNow)
	require.NoError(t, err)

	for _, field := range []string{"Message", "MessageId", "Subject", "Timestamp", "Type"} {
		r := message(snsNotification)
		value := map[string]string{"Type": snsGoodbye}[field]
		r.Body = must(sjson.SetBytes(r.Body, field, value+"x"))
		_, err := p.Verify(t.Context(), r, topics, testNow)
		require.Error(t, err, field)
	}
	// The key of the certificate is none of the topic's.
	r = message(snsNotification)
	r.Body = bytes.Replace(r.Body, []byte("SimpleNotificationService-hooklatch"), []byte("SimpleNotificationService-gone"), 1)
	_, err = p.Verify(t.Context(), r, topics, testNow)
	refusedFor(t, ReasonForeignURL, err)
}

// TestSNSConfirmation calls the URL of a signed confirmation, each time anew.
func TestSNSConfirmation(t *testing.T) {
	t.Parallel()
	fetch := counted{published: publishedSNS(), fetched: map[string]int{}}
	p := provide(t, "aws-sns", Options{Fetch: fetch})
	confirm := snsTestHost + "?Action=ConfirmSubscription&TopicArn=" + snsTestTopic + "&Token=t"
	r := p.Sample(snsConfirmation, "m1", testNow)
	r.Body = must(sjson.SetBytes(r.Body, "TopicArn", snsTestTopic))
	r.Body = must(sjson.SetBytes(r.Body, "SubscribeURL", confirm))
	require.NoError(t, p.Sign(r, secret.New(rsaPEM()), testNow))
	topics := []secret.Value{secret.New(snsTestTopic)}
	for i := range 2 {
		answer, err := p.Handshake(t.Context(), r, topics, testNow)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status)
		require.Equal(t, i+1, fetch.fetched[confirm])
	}
	delete(fetch.published, confirm)
	_, err := p.Handshake(t.Context(), r, topics, testNow)
	require.ErrorContains(t, err, "confirm the subscription")
	require.NotErrorAs(t, err, new(*VerifyError), "SNS must come back")
}

func FuzzSNS(f *testing.F) {
	f.Add([]byte(`{"Type":"Notification","Message":"a\nb","MessageId":"m"}`), []byte(`{"Type":"Notification","Message":"a","MessageId":"b"}`))
	f.Add([]byte(`{"Type":"Notification","Message":"a\nMessageId\nm","MessageId":"m","Timestamp":"t","TopicArn":"a"}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ids := func(body []byte) ([]byte, string) {
			root, err := parseJSON(body)
			if err != nil {
				return nil, ""
			}
			signed, err := snsSigned(root)
			if err != nil {
				require.IsType(t, &VerifyError{}, err)
				return nil, ""
			}
			id, _ := scalar(lookup(root, "/MessageId"))
			return signed, id
		}
		signedA, idA := ids(a)
		signedB, idB := ids(b)
		if signedA != nil && bytes.Equal(signedA, signedB) {
			require.Equal(t, idA, idB, "one signature, one id")
		}
	})
}
