package sender

import (
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestSNSCertificates checks that certificates are fetched only from SNS's hosts, and not from
// hosts with similar names. A certificate must be issued to SNS.
func TestSNSCertificates(t *testing.T) {
	t.Parallel()
	root, stranger := prooftest.NewIssuer(nil), prooftest.NewIssuer(nil)
	year := prooftest.Now().AddDate(1, 0, 0)
	const path = "SimpleNotificationService-0a1b.pem"
	const european = "https://sns.eusc-de-east-1.amazonaws.eu/" + path
	url := func(region string) string { return "https://sns." + region + ".amazonaws.com/" + path }
	chain := func(i *prooftest.Issuer, name string) []byte { return append(i.Leaf(name, year), i.PEM()...) }
	fetched := prooftest.Counted{Fetched: map[string]int{}, Published: prooftest.Published{
		url("us-east-1"):     root.Leaf("sns.amazonaws.com", year),
		url("me-south-1"):    root.Leaf("sns-signing.me-south-1.amazonaws.com", year),
		url("us-gov-west-1"): chain(root, "sns-us-gov-west-1.amazonaws.com"),
		url("eu-west-1"):     chain(stranger, "sns.amazonaws.com"),
		url("eu-west-2"):     root.Leaf("sns.amazonaws.com.example.com", year),
		european:             root.Leaf("sns.eusc-de-east-1.amazonaws.eu", year),
		url("s3-us-west-2"):  root.Leaf("sns.amazonaws.com", year),
	}}
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate)
	p := declared(t, SNS, provider.Options{Fetch: fetched, Roots: pool})
	verify := func(certificate string) error {
		r := p.Sample(snsNotification, "m1", prooftest.Now())
		r.Body = prooftest.Must(sjson.SetBytes(r.Body, "TopicArn", prooftest.SNSTopic))
		r.Body = prooftest.Must(sjson.SetBytes(r.Body, "SigningCertURL", certificate))
		require.NoError(t, p.Sign(r, secret.New(prooftest.RSAPEM()), prooftest.Now()))
		_, err := p.Verify(t.Context(), r, []secret.Value{secret.New(prooftest.SNSTopic)}, prooftest.Now())
		return err
	}
	for _, region := range []string{"us-east-1", "me-south-1", "us-gov-west-1"} {
		require.NoError(t, verify(url(region)), region)
	}
	require.NoError(t, verify(european))
	requireRefusal(t, provider.ReasonWrongCertificate, verify(url("eu-west-1")))
	requireRefusal(t, provider.ReasonWrongCertificate, verify(url("eu-west-2")))
	before := fetched.Total()
	for _, foreign := range []string{
		url("s3-us-west-2"), url("s3"), url("us-east-1.s3"), url("eusc-de-east-1"), "https://sns.us-east-1.amazonaws.eu/" + path,
		"https://sns.eusc-s3-de-east-1.amazonaws.eu/" + path, "https://sns.eusc-de-east-1.amazonaws.eu.example.com/" + path,
		"https://sns.us-east-1.amazonaws.com/other.pem",
		"https://sns.us-east-1.amazonaws.com/a/" + path, url("us-east-1") + "?x=1", url("us-east-1") + "/",
	} {
		requireRefusal(t, provider.ReasonForeignURL, verify(foreign))
	}
	require.Equal(t, before, fetched.Total())
}
