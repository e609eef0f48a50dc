package provider

import (
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestSNSCertificates are taken from the hosts of SNS only, which others have
// names alike, and only when they are made out to it.
func TestSNSCertificates(t *testing.T) {
	t.Parallel()
	root, stranger := newIssuer(t, nil), newIssuer(t, nil)
	year := testNow.AddDate(1, 0, 0)
	const path = "SimpleNotificationService-0a1b.pem"
	url := func(region string) string { return "https://sns." + region + ".amazonaws.com/" + path }
	chain := func(i *issuer, name string) []byte { return append(i.leaf(t, name, year), i.pem()...) }
	fetched := counted{fetched: map[string]int{}, published: published{
		url("us-east-1"):     root.leaf(t, "sns.amazonaws.com", year),
		url("me-south-1"):    root.leaf(t, "sns-signing.me-south-1.amazonaws.com", year),
		url("us-gov-west-1"): chain(root, "sns-us-gov-west-1.amazonaws.com"),
		url("eu-west-1"):     chain(stranger, "sns.amazonaws.com"),
		url("eu-west-2"):     root.leaf(t, "sns.amazonaws.com.example.com", year),
		url("s3-us-west-2"):  root.leaf(t, "sns.amazonaws.com", year),
	}}
	pool := x509.NewCertPool()
	pool.AddCert(root.certificate)
	p := provide(t, "aws-sns", Options{Fetch: fetched, Roots: pool})
	verify := func(certificate string) error {
		r := p.Sample(snsNotification, "m1", testNow)
		r.Body = must(sjson.SetBytes(r.Body, "TopicArn", snsTestTopic))
		r.Body = must(sjson.SetBytes(r.Body, "SigningCertURL", certificate))
		require.NoError(t, p.Sign(r, secret.New(rsaPEM()), testNow))
		_, err := p.Verify(t.Context(), r, []secret.Value{secret.New(snsTestTopic)}, testNow)
		return err
	}
	for _, region := range []string{"us-east-1", "me-south-1", "us-gov-west-1"} {
		require.NoError(t, verify(url(region)), region)
	}
	refusedFor(t, ReasonWrongCertificate, verify(url("eu-west-1")))
	refusedFor(t, ReasonWrongCertificate, verify(url("eu-west-2")))
	before := fetched.total()
	for _, foreign := range []string{
		url("s3-us-west-2"), url("s3"), url("us-east-1.s3"), "https://sns.us-east-1.amazonaws.com/other.pem",
		"https://sns.us-east-1.amazonaws.com/a/" + path, url("us-east-1") + "?x=1", url("us-east-1") + "/",
	} {
		refusedFor(t, ReasonForeignURL, verify(foreign))
	}
	require.Equal(t, before, fetched.total())
}
