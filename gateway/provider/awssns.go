package provider

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	_ "crypto/sha1" // version 1 of the signature; crypto.SHA1 finds it
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// sns knows the HTTP deliveries of Amazon SNS. Anybody can have a topic there
// that AWS signs for, so the secrets of a source are the topics it takes.
// Source: docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS
// messages"; aws/aws-js-sns-message-validator.
type sns struct {
	fetcher *fetcher
	roots   *x509.CertPool // nil: those of the system
}

const (
	snsNotification = "Notification"
	snsConfirmation = "SubscriptionConfirmation"
	snsGoodbye      = "UnsubscribeConfirmation"
)

// snsCertificateTTL is for how long a certificate is kept. AWS changes it by
// changing its URL.
const snsCertificateTTL = day

var (
	// A region is us-east-1 or us-gov-west-1: other hosts of that form are
	// buckets that anybody can have (sns.s3-us-west-2.amazonaws.com).
	snsHost = regexp.MustCompile(`^sns\.[a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}\.amazonaws\.com(\.cn)?$`)
	snsPath = regexp.MustCompile(`^/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$`)
	// snsName is in the certificate: sns.amazonaws.com, or that of some regions
	// (sns-signing.me-south-1.amazonaws.com, sns-cn-north-1.amazonaws.com.cn).
	snsName  = regexp.MustCompile(`^sns(-signing)?([.-][a-z0-9-]+)?\.amazonaws\.com(\.cn)?$`)
	snsTopic = regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}$`)

	errNoTopic     = errors.New("the secret is not the ARN of a topic (arn:aws:sns:<region>:<account>:<name>)")
	errOnlyAWS     = errors.New("only AWS signs for a topic; a test signs with the RSA key of a certificate of its own")
	errNoSNSObject = errors.New("only a JSON object can carry the signature")
)

func newSNS(o Options) (*Provider, error) {
	s := &sns{fetcher: newFetcherFor(o, snsHost.MatchString), roots: o.Roots}
	s.fetcher.budget = &fetchBudget{}
	f := facts{id: verbatim(at("/MessageId")), kind: at("/Type"), occurred: clock{Pointer: "/Timestamp", unit: rfc3339}}
	return &Provider{
		Name:        "aws-sns",
		Title:       "Amazon SNS",
		About:       aboutSNS(),
		Verify:      s.verify,
		Events:      f.events,
		Handshake:   s.handshake,
		Methods:     []string{http.MethodPost},
		CheckSecret: checkSNS,
		Sign:        signSNS,
		Sample:      sampleSNS,
		Deadline:    15 * time.Second,
		RetryWindow: time.Hour, // 3 retries in a minute by default; a policy may stretch them
	}, nil
}

func aboutSNS() About {
	return About{
		Confirmed: Unconfirmed,
		Signing: "RSA with SHA-256 (SignatureVersion 2) or SHA-1 (1) over named fields of the message, by a certificate from the host of SNS. " +
			"The topic must be one of those configured, since AWS signs for everybody's topics.",
		KeyRule: "MessageId, which stays the same in all attempts. What a publisher publishes twice has two ids.",
		Setup: []string{
			"The secrets of the source are the ARNs of the topics it takes, such as arn:aws:sns:eu-central-1:123456789012:orders. They are not " +
				"secret. An RSA private key (PEM) in their place is for hooklatch send and tests: what it signs is taken without a certificate.",
			"With Hooklatch running, create a subscription of the topic with the protocol HTTPS and the endpoint {url}. Leave raw message delivery off.",
			"Hooklatch confirms the subscription by itself: it calls the SubscribeURL that SNS sends.",
			"Set SignatureVersion 2 on the topic: version 1 uses SHA-1.",
		},
		Notes: []string{
			"Raw message delivery has no signature and is refused.",
			"The certificate must come from `sns.<region>.amazonaws.com` under the name AWS gives it, and be made out to SNS. AWS serves it without " +
				"the authorities that vouch for it, so that its host does; where they come with it they are checked.",
			"The gateway must reach `sns.<region>.amazonaws.com` over HTTPS, for the certificate and for the confirmation.",
			"The type of every event is Notification: what it is about stands in Message, often as JSON in a text. UnsubscribeConfirmation " +
				"is an event as well: the subscription is gone.",
			"Unconfirmed: that a 4xx other than 429 is final, 3 retries 20 seconds apart, and at most an hour with a policy. After the last " +
				"retry a message is lost unless the subscription has a dead-letter queue.",
		},
		Docs: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
	}
}

// checkSNS takes a topic, or a key.
func checkSNS(s secret.Value) error {
	switch {
	case s.IsZero():
		return errEmptySecret
	case snsTopic.MatchString(s.Reveal()), rsaKeys(crypto.SHA256).check(s) == nil:
		return nil
	}
	return errNoTopic
}

// handshake confirms a subscription of a topic of ours. The message is signed,
// and the URL in it must be one of SNS.
func (s *sns) handshake(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (*Answer, error) {
	if gjson.GetBytes(r.Body, "Type").String() != snsConfirmation {
		return nil, nil
	}
	if _, err := s.verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	d := &document{r: r}
	if at("/Type").optional(d) != snsConfirmation { // of two members Type the last one is signed
		return nil, nil
	}
	confirm, err := at("/SubscribeURL").text(d)
	if err != nil {
		return nil, err
	}
	if _, err := s.fetcher.fetch(ctx, confirm, now); err != nil {
		return nil, fmt.Errorf("confirm the subscription: %w", err)
	}
	return &Answer{Status: http.StatusOK}, nil
}

func (s *sns) verify(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	if r.Header.Get("X-Amz-Sns-Rawdelivery") == "true" {
		return Verified{}, &VerifyError{Reason: ReasonMissingSignature, Detail: "raw message delivery is not signed"}
	}
	root, err := parseJSON(r.Body)
	if err != nil || !root.IsObject() {
		return Verified{}, &VerifyError{Reason: ReasonMissingSignature, Detail: "the body is no JSON object"}
	}
	m, err := snsMessageOf(root)
	if err != nil {
		return Verified{}, err
	}
	// Topics before anything is fetched: strangers have some too.
	index, own, err := snsMatch(secrets, m)
	if err != nil || own {
		return Verified{SecretIndex: index}, err
	}
	key, err := s.key(ctx, r.Client, m.certificate, now)
	if err != nil {
		return Verified{}, err
	}
	if provesRSA(key, m.hash, m.signed, m.signature) != nil {
		return Verified{}, &VerifyError{Reason: ReasonWrongSignature}
	}
	s.fetcher.proven(m.certificate)
	return Verified{SecretIndex: index}, nil
}

// snsMatch returns the index of the topic a message is of, or of the key that
// signed it; own tells that it is a key.
func snsMatch(secrets []secret.Value, m snsMessage) (index int, own bool, err error) {
	if len(secrets) == 0 {
		return 0, false, errNoSecret
	}
	keys := rsaKeys(m.hash)
	refused := ReasonWrongAudience
	var unusable error
	for i, s := range secrets {
		if snsTopic.MatchString(s.Reveal()) {
			if s.Reveal() == m.topic {
				return i, false, nil
			}
			continue
		}
		key, err := keys.read(s)
		if err != nil {
			unusable = checkSNS(s)
			continue
		}
		if keys.proves(publicOf(key), m.signed, m.signature) {
			return i, true, nil
		}
		refused = ReasonWrongSignature
	}
	if unusable != nil {
		return 0, false, unusable
	}
	return 0, false, &VerifyError{Reason: refused, Detail: "not a topic of the source"}
}

// snsMessage is what a message says of itself.
type snsMessage struct {
	topic, certificate string
	hash               crypto.Hash
	signature, signed  []byte
}

func snsMessageOf(root gjson.Result) (snsMessage, error) {
	var m snsMessage
	spelled, _ := scalar(lookup(root, "/Signature"))
	if spelled == "" {
		return m, &VerifyError{Reason: ReasonMissingSignature, Detail: "no Signature"}
	}
	version, _ := scalar(lookup(root, "/SignatureVersion"))
	switch version {
	case "1":
		m.hash = crypto.SHA1
	case "2":
		m.hash = crypto.SHA256
	default:
		return m, &VerifyError{Reason: ReasonForbiddenAlgorithm, Detail: "SignatureVersion is neither 1 nor 2"}
	}
	var err error
	if m.signature, err = base64Std.decode(spelled); err != nil {
		return m, &VerifyError{Reason: ReasonMalformedSignature, Detail: "want <base64>"}
	}
	if m.signed, err = snsSigned(root); err != nil {
		return m, err
	}
	m.topic, _ = scalar(lookup(root, "/TopicArn"))
	m.certificate, _ = scalar(lookup(root, "/SigningCertURL"))
	return m, nil
}

// snsSigned writes the names and values that are signed, each on a line. Only
// Message may have line breaks: in another value they could pass for the next
// name, and make another id of the same signature.
func snsSigned(root gjson.Result) ([]byte, error) {
	kind, _ := scalar(lookup(root, "/Type"))
	var names []string
	switch kind {
	case snsNotification:
		names = []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	case snsConfirmation, snsGoodbye:
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	default:
		return nil, &VerifyError{Reason: ReasonMalformedSignature, Detail: "unknown Type"}
	}
	var signed []byte
	for _, name := range names {
		value := lookup(root, "/"+name)
		if name == "Subject" && value.Type == gjson.Null {
			continue
		}
		if value.Type != gjson.String {
			return nil, &VerifyError{Reason: ReasonMalformedSignature, Detail: name + " is no text"}
		}
		text := unquote(value.Raw)
		if name != "Message" && strings.ContainsAny(text, "\r\n") {
			return nil, &VerifyError{Reason: ReasonMalformedID, Detail: name + " has a line break"}
		}
		signed = append(append(append(append(signed, name...), '\n'), text...), '\n')
	}
	return signed, nil
}

// key returns the key of the certificate at rawURL, which must be of SNS. That
// it comes from the host of SNS vouches for it; where AWS serves the chain with
// it, the authorities of the system must too.
func (s *sns) key(ctx context.Context, client netip.Prefix, rawURL string, now time.Time) (*rsa.PublicKey, error) {
	if !isDocument(rawURL, snsPath) {
		return nil, &VerifyError{Reason: ReasonForeignURL, Detail: "SigningCertURL is not that of a certificate"}
	}
	document, err := s.fetcher.cached(ctx, client, rawURL, snsCertificateTTL, now)
	if errors.Is(err, errNoDocument) {
		return nil, &VerifyError{Reason: ReasonForeignURL, Detail: "the sender has no such certificate"}
	}
	if err != nil {
		return nil, err
	}
	refuse := func(why string) error { return &VerifyError{Reason: ReasonWrongCertificate, Detail: why} }
	block, rest := pem.Decode(document)
	if block == nil {
		return nil, refuse("is not PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, refuse("cannot be read")
	}
	if !slices.ContainsFunc(append(certificate.DNSNames, certificate.Subject.CommonName), snsName.MatchString) {
		return nil, refuse("is of another name")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return certificates{roots: s.roots}.rsaKey(document, now)
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

// signSNS signs with the key of a certificate that a test serves.
func signSNS(r *Request, key secret.Value, _ time.Time) error {
	pair := rsaKeys(crypto.SHA256)
	if pair.check(key) != nil {
		return errOnlyAWS
	}
	root, err := parseJSON(r.Body)
	if err != nil || !root.IsObject() {
		return errNoSNSObject
	}
	signed, err := snsSigned(root)
	if err != nil {
		return err
	}
	signature, err := pair.sign(key, signed)
	if err != nil {
		return err
	}
	for _, field := range [][2]string{{"SignatureVersion", "2"}, {"Signature", base64Std.encode(signature)}} {
		if r.Body, err = sjson.SetBytes(r.Body, field[0], field[1]); err != nil {
			return fmt.Errorf("set %s: %w", field[0], err)
		}
	}
	return nil
}

func sampleSNS(eventType, id string, now time.Time) *Request {
	const topic = "arn:aws:sns:us-east-1:123456789012:hooklatch-demo"
	kind := cmp.Or(eventType, snsNotification)
	body := object{
		"Type": kind, "MessageId": cmp.Or(id, uuid.NewString()), "TopicArn": topic, "Message": `{"order":"HL-0001","total":4200}`,
		"Timestamp": now.UTC().Format("2006-01-02T15:04:05.000Z"), "SignatureVersion": "2",
		"SigningCertURL": "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-hooklatch.pem",
	}
	if kind == snsNotification {
		body["Subject"] = "order.paid"
	} else {
		token := freshID("")
		body["Token"] = token
		body["SubscribeURL"] = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=" + token
	}
	r := sampleJSON(body, "X-Amz-Sns-Message-Type", kind, "X-Amz-Sns-Topic-Arn", topic)
	r.Header.Set("Content-Type", "text/plain; charset=UTF-8")
	return r
}
