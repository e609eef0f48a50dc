package sender

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	_ "crypto/sha1" // registers crypto.SHA1, for signature version 1
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type sns struct {
	fetcher *proof.Fetcher
	roots   *x509.CertPool // nil: the system's authorities
}

const (
	snsNotification = "Notification"
	snsConfirmation = "SubscriptionConfirmation"
	snsGoodbye      = "UnsubscribeConfirmation"
)

// snsCertificateTTL is how long a certificate is cached. When AWS changes the certificate, its
// URL changes too.
const snsCertificateTTL = proof.Day

var (
	// A region is a name such as us-east-1 or us-gov-west-1. A host with another name in that
	// position can be a bucket that anyone can own (sns.s3-us-west-2.amazonaws.com). The regions of
	// the European Sovereign Cloud begin with eusc (aws-sdk-go-v2, partitions.json).
	snsHost = regexp.MustCompile(`^sns\.([a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}\.amazonaws\.com(\.cn)?|eusc-[a-z]{2}-[a-z]+-[0-9]{1,2}\.amazonaws\.eu)$`)
	snsPath = regexp.MustCompile(`^/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$`)
	// snsName matches the name in the certificate: sns.amazonaws.com or, in some regions, a name
	// with the region (sns-signing.me-south-1.amazonaws.com, sns-cn-north-1.amazonaws.com.cn).
	snsName  = regexp.MustCompile(`^sns(-signing)?([.-][a-z0-9-]+)?\.amazonaws\.(com|com\.cn|eu)$`)
	snsTopic = regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}$`)

	errNoTopic     = errors.New("the secret is not the ARN of a topic (arn:aws:sns:<region>:<account>:<name>)")
	errOnlyAWS     = errors.New("only AWS can sign for a topic; a test signs with its own RSA key")
	errNoSNSObject = errors.New("only a JSON object can contain the signature")
)

// SNS declares Amazon SNS's HTTP deliveries. Anyone can create a topic for which AWS signs, so
// a source's secrets are the topics that it accepts. Source: docs.aws.amazon.com/sns,
// "Verifying the signatures of Amazon SNS messages"; aws/aws-js-sns-message-validator.
func SNS(o provider.Options) (*provider.Provider, error) {
	s := &sns{fetcher: proof.NewFetcherFor(o, snsHost.MatchString), roots: o.Roots}
	s.fetcher.Budget = &proof.FetchBudget{}
	f := proof.Facts{ID: proof.Verbatim(proof.At("/MessageId")), Kind: proof.At("/Type"), Occurred: proof.Clock{Pointer: "/Timestamp", Unit: proof.RFC3339}}
	return &provider.Provider{
		Name:           "aws-sns",
		Title:          "Amazon SNS",
		HeaderFamilies: []string{"X-Amz-Sns-*"},
		About:          aboutSNS(),
		Verify:         s.verify,
		Events:         f.Events,
		Handshake:      s.handshake,
		CheckSecret:    checkSNS,
		Sign:           signSNS,
		Sample:         sampleSNS,
		Deadline:       15 * time.Second,
		RetryWindow:    time.Hour, // 3 retries in a minute by default; a delivery policy may configure up to an hour
	}, nil
}

func aboutSNS() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation,
			EventID:     provider.Documentation,
			Handshake:   provider.Documentation,
			RetryWindow: provider.Nobody,
			Resend:      provider.Nobody,
		},
		Signing: "RSA with SHA-256 (SignatureVersion 2) or SHA-1 (1) over named fields of the message, with a certificate from a host of " +
			"SNS. Only configured topics are accepted, because AWS signs for the topics of all its customers.",
		KeyRule: "MessageId, which stays the same in all attempts. A message that is published twice has two ids.",
		Setup: []string{
			"The secrets of the source are the ARNs of the topics it accepts, such as arn:aws:sns:eu-central-1:123456789012:orders. They are not " +
				"secret. An RSA private key (PEM) in their place is for hooklatch send and tests: messages that it signs are accepted without a certificate.",
			"With Hooklatch running, create a subscription of the topic with the protocol HTTPS and the endpoint {url}. Leave raw message delivery off.",
			"Hooklatch confirms the subscription automatically: it calls the SubscribeURL that SNS sends.",
			"Set SignatureVersion 2 on the topic: version 1 uses SHA-1.",
		},
		Notes: []string{
			"Raw message delivery has no signature and is refused.",
			"The certificate must come from `sns.<region>.amazonaws.com`, have the file name that AWS uses, and be issued to SNS. AWS serves " +
				"the certificate without its chain, so Hooklatch trusts it because of the host. If a chain comes with it, the chain is " +
				"verified.",
			"The gateway must reach `sns.<region>.amazonaws.com` over HTTPS, for the certificate and for the confirmation.",
			"In China these hosts end with `amazonaws.com.cn`. Unconfirmed: in the European Sovereign Cloud they end with `amazonaws.eu`.",
			"The type of every event is Notification. The content is in Message, often as a string of JSON. UnsubscribeConfirmation is " +
				"also an event: the subscription was deleted.",
			"Unconfirmed: SNS retries 3 times, 20 seconds apart, or for at most an hour with a policy, and a 4xx other than 429 is " +
				"final. After the last retry a message is lost, unless the subscription has a dead-letter queue.",
		},
		Docs: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
	}
}

// checkSNS accepts a topic or a key.
func checkSNS(s secret.Value) error {
	switch {
	case s.IsZero():
		return proof.ErrEmptySecret
	case snsTopic.MatchString(s.Reveal()), proof.RSAKeys(crypto.SHA256).Check(s) == nil:
		return nil
	}
	return errNoTopic
}

// handshake confirms a subscription to a topic that the source accepts. The message must be signed,
// and its URL must belong to SNS.
func (s *sns) handshake(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (*provider.Answer, error) {
	if gjson.GetBytes(jsonpointer.WithoutMark(r.Body), "Type").String() != snsConfirmation {
		return nil, nil
	}
	if _, err := s.verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	d := &proof.Document{R: r}
	if proof.At("/Type").Optional(d) != snsConfirmation { // if Type occurs twice, At reads the last one, like snsSigned
		return nil, nil
	}
	confirm, err := proof.At("/SubscribeURL").Text(d)
	if err != nil {
		return nil, err
	}
	if r.Trial {
		err = s.fetcher.Allows(confirm)
	} else {
		_, err = s.fetcher.Fetch(ctx, confirm)
	}
	if err != nil {
		return nil, fmt.Errorf("confirm the subscription: %w", err)
	}
	return &provider.Answer{Status: http.StatusOK}, nil
}

func (s *sns) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	if r.Header.Get("X-Amz-Sns-Rawdelivery") == "true" {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "raw message delivery is not signed"}
	}
	root, err := proof.ParseJSON(r.Body)
	if err != nil || !root.IsObject() {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "the body is not a JSON object"}
	}
	m, err := snsMessageOf(root)
	if err != nil {
		return provider.Verified{}, err
	}
	// Check the topic before fetching anything: AWS also signs the messages of unknown senders'
	// topics.
	index, own, err := snsMatch(secrets, m)
	if err != nil || own {
		return provider.Verified{SecretIndex: index}, err
	}
	key, err := s.key(ctx, proof.AskerOf(r), m.certificate, now)
	if err != nil {
		return provider.Verified{}, err
	}
	if proof.ProvesRSA(key, m.hash, m.signed, m.signature) != nil {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
	}
	s.fetcher.Proven(m.certificate)
	return provider.Verified{SecretIndex: index}, nil
}

// snsMatch returns the index of the secret that is the message's topic, or of the key that signed
// the message. The result own is true if a key signed it.
func snsMatch(secrets []secret.Value, m snsMessage) (index int, own bool, err error) {
	if len(secrets) == 0 {
		return 0, false, proof.ErrNoSecret
	}
	keys := proof.RSAKeys(m.hash)
	refused := provider.ReasonWrongAudience
	var unusable error
	for i, s := range secrets {
		if snsTopic.MatchString(s.Reveal()) {
			if s.Reveal() == m.topic {
				return i, false, nil
			}
			continue
		}
		key, err := keys.Read(s)
		if err != nil {
			unusable = checkSNS(s)
			continue
		}
		if keys.Proves(proof.PublicOf(key), m.signed, m.signature) {
			return i, true, nil
		}
		refused = provider.ReasonWrongSignature
	}
	if unusable != nil {
		return 0, false, unusable
	}
	return 0, false, &provider.VerifyError{Reason: refused, Detail: "not a topic of the source"}
}

// snsMessage holds the parts of a message that are needed to verify it.
type snsMessage struct {
	topic, certificate string
	hash               crypto.Hash
	signature, signed  []byte
}

func snsMessageOf(root gjson.Result) (snsMessage, error) {
	var m snsMessage
	spelled, _ := proof.Scalar(proof.Lookup(root, "/Signature"))
	if spelled == "" {
		return m, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "no Signature"}
	}
	version, _ := proof.Scalar(proof.Lookup(root, "/SignatureVersion"))
	switch version {
	case "1":
		m.hash = crypto.SHA1
	case "2":
		m.hash = crypto.SHA256
	default:
		return m, &provider.VerifyError{Reason: provider.ReasonForbiddenAlgorithm, Detail: "SignatureVersion is neither 1 nor 2"}
	}
	var err error
	if m.signature, err = proof.Base64.Decode(spelled); err != nil {
		return m, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want <base64>"}
	}
	if m.signed, err = snsSigned(root); err != nil {
		return m, err
	}
	m.topic, _ = proof.Scalar(proof.Lookup(root, "/TopicArn"))
	m.certificate, _ = proof.Scalar(proof.Lookup(root, "/SigningCertURL"))
	return m, nil
}

// snsSigned returns the signed text: names and values, each on a separate line. Only Message may
// contain line breaks. In another value, the text after a line break could pass for the next name
// and value, and create another id with the same signature.
func snsSigned(root gjson.Result) ([]byte, error) {
	kind, _ := proof.Scalar(proof.Lookup(root, "/Type"))
	var names []string
	switch kind {
	case snsConfirmation, snsGoodbye:
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	default: // a notification or an unknown type; Type itself is signed too
		names = []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	}
	var signed []byte
	for _, name := range names {
		value := proof.Lookup(root, "/"+name)
		if name == "Subject" && value.Type == gjson.Null {
			continue
		}
		if value.Type != gjson.String {
			return nil, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: name + " is not a string"}
		}
		text := proof.Unquote(value.Raw)
		if name != "Message" && strings.ContainsAny(text, "\r\n") {
			return nil, &provider.VerifyError{Reason: provider.ReasonMalformedID, Detail: name + " has a line break"}
		}
		signed = append(append(append(append(signed, name...), '\n'), text...), '\n')
	}
	return signed, nil
}

// key returns the key of the certificate at rawURL, which must be a URL of one of SNS's hosts.
// The host vouches for the certificate. If AWS also serves the certificate's chain, the
// system's authorities must vouch for the certificate too.
func (s *sns) key(ctx context.Context, by proof.Asker, rawURL string, now time.Time) (*rsa.PublicKey, error) {
	if !proof.IsDocument(rawURL, snsPath) {
		return nil, &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "SigningCertURL is not the URL of a certificate"}
	}
	document, err := s.fetcher.Cached(ctx, by, rawURL, snsCertificateTTL)
	if errors.Is(err, proof.ErrNoDocument) {
		return nil, &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "the sender has no such certificate"}
	}
	if err != nil {
		return nil, err
	}
	refuse := func(why string) error {
		return &provider.VerifyError{Reason: provider.ReasonWrongCertificate, Detail: why}
	}
	block, rest := pem.Decode(document)
	if block == nil {
		return nil, refuse("is not PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, refuse("cannot be read")
	}
	if !slices.ContainsFunc(append(certificate.DNSNames, certificate.Subject.CommonName), snsName.MatchString) {
		return nil, refuse("was issued for another name")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return proof.Certificates{Roots: s.roots}.RSAKey(document, now)
	}
	if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return nil, refuse("is not valid at this time")
	}
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, refuse("has no RSA key")
	}
	return key, nil
}

// signSNS signs with an RSA private key: a configured one, or the key of a certificate that a
// test serves.
func signSNS(r *provider.Request, key secret.Value, _ time.Time) error {
	pair := proof.RSAKeys(crypto.SHA256)
	if pair.Check(key) != nil {
		return errOnlyAWS
	}
	root, err := proof.ParseJSON(r.Body)
	if err != nil || !root.IsObject() {
		return errNoSNSObject
	}
	signed, err := snsSigned(root)
	if err != nil {
		return err
	}
	signature, err := pair.Sign(key, signed)
	if err != nil {
		return err
	}
	for _, field := range [][2]string{{"SignatureVersion", "2"}, {"Signature", proof.Base64.Encode(signature)}} {
		if r.Body, err = sjson.SetBytes(r.Body, field[0], field[1]); err != nil {
			return fmt.Errorf("set %s: %w", field[0], err)
		}
	}
	return nil
}

func sampleSNS(eventType, id string, now time.Time) *provider.Request {
	const topic = "arn:aws:sns:us-east-1:123456789012:hooklatch-demo"
	kind := cmp.Or(eventType, snsNotification)
	body := proof.Object{
		"Type": kind, "MessageId": cmp.Or(id, uuid.NewString()), "TopicArn": topic, "Message": `{"order":"HL-0001","total":4200}`,
		"Timestamp": now.UTC().Format("2006-01-02T15:04:05.000Z"), "SignatureVersion": "2",
		"SigningCertURL": "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-hooklatch.pem",
	}
	if kind == snsNotification {
		body["Subject"] = "order.paid"
	} else {
		token := proof.FreshID("")
		body["Token"] = token
		body["SubscribeURL"] = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=" + token
	}
	r := proof.SampleJSON(body, "X-Amz-Sns-Message-Type", kind, "X-Amz-Sns-Topic-Arn", topic)
	r.Header.Set("Content-Type", "text/plain; charset=UTF-8")
	return r
}
