package sender

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type paypal struct {
	fetch   *proof.Fetcher // for PayPal's certificates
	issuers *proof.Fetcher // for the issuers' certificates
	trust   proof.Certificates

	tolerance time.Duration // 0: no limit
}

const (
	paypalID        = "Paypal-Transmission-Id"
	paypalTime      = "Paypal-Transmission-Time"
	paypalSignature = "Paypal-Transmission-Sig"
	paypalAlgorithm = "Paypal-Auth-Algo"
	paypalCertURL   = "Paypal-Cert-Url"

	paypalSigns = "SHA256withRSA"
	paypalKeep  = proof.Day // how long a certificate is cached; its URL never leads to another certificate

	// paypalTolerance equals PayPal's retry window. PayPal's retries may keep the first attempt's
	// time.
	paypalTolerance = 3 * proof.Day
)

var (
	paypalCertPath = regexp.MustCompile(`^/v1/notifications/certs/[A-Za-z0-9_-]{1,100}$`)

	errPayPalID  = errors.New("the secret does not begin with a webhook id: letters, digits and _, at most 50")
	errPayPalKey = errors.New("signing needs a private key after the webhook id")
)

// PayPal declares PayPal's webhooks. With its certificate's key, PayPal signs a string that
// contains our webhook's id and the body's CRC. Source:
// developer.paypal.com/api/rest/webhooks/rest, "Self verification method"; PayPal-Java-SDK SSLUtil
// (the name in the certificate).
func PayPal(o provider.Options) (*provider.Provider, error) {
	p := &paypal{
		fetch:     proof.NewFetcher(o, "api.paypal.com", "api-m.paypal.com", "api.sandbox.paypal.com", "api-m.sandbox.paypal.com"),
		issuers:   proof.NewFetcher(o, "*.digicert.com"),
		trust:     proof.Certificates{Roots: o.Roots, Names: []string{"messageverificationcerts.paypal.com", "messageverificationcerts.sandbox.paypal.com"}},
		tolerance: proof.Tolerance(o, paypalTolerance),
	}
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/event_type"),
		Version:  proof.At("/resource_version"),
		Occurred: proof.Clock{Pointer: "/create_time"},
	}
	p.fetch.Budget = &proof.FetchBudget{}
	return &provider.Provider{
		Name:           "paypal",
		Title:          "PayPal",
		HeaderFamilies: []string{"Paypal-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "RSA with SHA-256 over `transmission id|transmission time|webhook id|CRC-32 of the body`, in base64 in the header " +
				"`PAYPAL-TRANSMISSION-SIG`. The certificate is fetched from `PAYPAL-CERT-URL`, only from PayPal's API hosts, verified up to " +
				"a certificate authority of the system, and kept for a day.",
			KeyRule: "`/id` of the body (WH-...). `PAYPAL-TRANSMISSION-ID` differs for each attempt.",
			Setup: []string{
				"Open the app in the Developer Dashboard, Apps & Credentials. Choose Webhooks, Add Webhook, enter the URL {url}, and " +
					"choose the events.",
				"The webhook id shown in the list is the secret of the source: only deliveries to this webhook verify with it.",
				"The gateway must reach api.paypal.com (and api.sandbox.paypal.com, cacerts.digicert.com) over https. If your network does not allow this, append a space and " +
					"PayPal's public key (base64 of its DER, or PEM) to the webhook id.",
			},
			Notes: []string{
				"The signature covers only a CRC of the body, and another body with the same CRC is easy to make. A transmission (its id " +
					"and time) is therefore accepted with one body only: another body is refused, unless `replay_guard` says otherwise. " +
					"The signature is neither stored nor forwarded. An attacker who intercepts a delivery on its way can still change " +
					"it: if money depends on it, fetch the object from the API.",
				"The webhook simulator signs for the webhook id `WEBHOOK_ID`: add it to the secrets of a source for tests.",
				"Sandbox and live have separate webhooks: use two sources.",
				"PayPal makes up to 25 attempts within 3 days. Then the event has failed, and can be resent manually.",
				"A transmission is accepted for 3 days from its time, or for `tolerance`. Unconfirmed: each attempt, and each manual " +
					"resend, has a new id and a new time. If a resend keeps an old time, `tolerance: 30d` accepts it.",
				"Unconfirmed: events are kept and can be resent for 30 days.",
			},
			Backfill: "GET /v1/notifications/webhooks-events?start_time=&end_time= lists events; POST .../{id}/resend resends one.",
			Docs:     "https://developer.paypal.com/api/rest/webhooks/rest/",
		},
		Verify:      p.verify,
		Events:      f.Events,
		CheckSecret: func(s secret.Value) error { _, _, err := paypalSecret(s); return err },
		Sign:        p.sign,
		Sample:      samplePayPal,
		// With these headers and the transmission's id and time, anyone could send another body
		// that has the same CRC. A database row or a forwarded delivery must therefore not
		// contain these headers.
		SecretHeaders: []string{paypalSignature, paypalAlgorithm, paypalCertURL},
		UnsignedBody:  true,
		ReplayToken:   paypalReplayToken,
		RetryWindow:   3 * proof.Day, ResendWindow: 30 * proof.Day,
	}, nil
}

// paypalSecret splits a secret into the webhook's id and the optional key after it.
func paypalSecret(s secret.Value) (id string, key any, err error) {
	if s.IsZero() {
		return "", nil, proof.ErrEmptySecret
	}
	id, text := strings.TrimSpace(s.Reveal()), ""
	if i := strings.IndexAny(id, " \t\r\n"); i > 0 {
		id, text = id[:i], strings.TrimSpace(id[i:])
	}
	odd := strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_'
	})
	if id == "" || odd || len(id) > 50 {
		return "", nil, errPayPalID
	}
	if text == "" {
		return id, nil, nil
	}
	if key, err = proof.ReadKey(secret.New(text)); err != nil {
		return "", nil, fmt.Errorf("after the webhook id: %w", err)
	}
	if _, ok := proof.PublicOf(key).(*rsa.PublicKey); !ok {
		return "", nil, fmt.Errorf("after the webhook id: %w", proof.ErrNotThatKey)
	}
	return id, key, nil
}

// paypalClaim holds a request's headers that describe the signature.
type paypalClaim struct {
	id, time, certURL string
	signedAt          time.Time
	signature         []byte
}

func (c paypalClaim) message(webhook string, body []byte) []byte {
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
	return []byte(c.id + "|" + c.time + "|" + webhook + "|" + sum)
}

func (p *paypal) claim(r *provider.Request) (c paypalClaim, err error) {
	header, err := proof.TheHeader(r.Header, paypalSignature, provider.ReasonMissingSignature)
	if err != nil {
		return c, err
	}
	if c.signature, err = proof.Base64.Decode(header); err != nil {
		return c, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want <base64>"}
	}
	algorithm, err := proof.TheHeader(r.Header, paypalAlgorithm, provider.ReasonForbiddenAlgorithm)
	if err != nil {
		return c, err
	}
	if algorithm != paypalSigns {
		return c, &provider.VerifyError{Reason: provider.ReasonForbiddenAlgorithm, Detail: "want " + paypalSigns}
	}
	if c.id, err = proof.TheHeader(r.Header, paypalID, provider.ReasonMissingID); err != nil {
		return c, err
	}
	if strings.Contains(c.id, "|") {
		return c, &provider.VerifyError{Reason: provider.ReasonMalformedID, Detail: "contains the separator of the signed parts"}
	}
	if c.time, err = proof.TheHeader(r.Header, paypalTime, provider.ReasonMissingTimestamp); err != nil {
		return c, err
	}
	if c.signedAt, err = proof.RFC3339.Parse(c.time); err != nil {
		return c, &provider.VerifyError{Reason: provider.ReasonMalformedTimestamp, Detail: "want RFC 3339"}
	}
	if len(r.Header[paypalCertURL]) > 1 {
		return c, &provider.VerifyError{Reason: provider.ReasonDuplicateHeader, Detail: paypalCertURL}
	}
	c.certURL = r.Header.Get(paypalCertURL)
	return c, nil
}

// paypalReplayToken identifies one attempt by its id and time. The time alone is not enough: two
// attempts could have the same time.
func paypalReplayToken(r *provider.Request) string {
	id, idErr := proof.TheHeader(r.Header, paypalID, provider.ReasonMissingID)
	at, timeErr := proof.TheHeader(r.Header, paypalTime, provider.ReasonMissingTimestamp)
	if idErr != nil || timeErr != nil {
		return ""
	}
	return id + "|" + at
}

func (p *paypal) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	if len(secrets) == 0 {
		return provider.Verified{}, proof.ErrNoSecret
	}
	c, err := p.claim(r)
	if err != nil {
		return provider.Verified{}, err
	}
	matched, byPublished := -1, false
	var published *rsa.PublicKey // fetched when a secret needs it for the first time
	var unusable error
	for i, s := range secrets {
		webhook, key, err := paypalSecret(s)
		if err != nil {
			unusable = fmt.Errorf("secret %d: %w", i, err)
			continue
		}
		public, _ := proof.PublicOf(key).(*rsa.PublicKey)
		if public == nil {
			if published == nil {
				if published, err = p.publishedKey(ctx, proof.AskerOf(r), c.certURL, now); err != nil {
					return provider.Verified{}, err
				}
			}
			public = published
		}
		if matched < 0 && proof.ProvesRSA(public, crypto.SHA256, c.message(webhook, r.Body), c.signature) == nil {
			matched, byPublished = i, public == published // need not take constant time: all compared values are public
		}
	}
	switch {
	case matched < 0 && unusable != nil:
		return provider.Verified{}, unusable
	case matched < 0:
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
	}
	if byPublished {
		p.fetch.Proven(c.certURL)
	}
	if err := proof.Within(c.signedAt, now, p.tolerance); err != nil {
		return provider.Verified{}, err
	}
	return provider.Verified{SecretIndex: matched, SignedAt: c.signedAt}, nil
}

// publishedKey returns the key of the certificate at rawURL. It returns an error unless that
// certificate is PayPal's.
func (p *paypal) publishedKey(ctx context.Context, by proof.Asker, rawURL string, now time.Time) (*rsa.PublicKey, error) {
	if !proof.IsDocument(rawURL, paypalCertPath) {
		return nil, &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "not the path of a certificate"}
	}
	document, err := p.fetch.Cached(ctx, by, rawURL, paypalKeep)
	if errors.Is(err, proof.ErrNoDocument) {
		return nil, &provider.VerifyError{Reason: provider.ReasonForeignURL, Detail: "the sender has no such certificate"}
	}
	if err != nil {
		return nil, err
	}
	chain, err := p.withIssuer(ctx, by, document)
	if err != nil {
		return nil, err
	}
	return p.trust.RSAKey(chain, now)
}

// withIssuer adds the issuer's certificate to a lone certificate. Without the issuer's
// certificate, the chain to a trusted authority may be incomplete.
func (p *paypal) withIssuer(ctx context.Context, by proof.Asker, chain []byte) ([]byte, error) {
	first, rest := pem.Decode(chain)
	if second, _ := pem.Decode(rest); first == nil || second != nil {
		return chain, nil
	}
	leaf, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		return chain, nil //nolint:nilerr // the chain check refuses it
	}
	for _, rawURL := range leaf.IssuingCertificateURL {
		// The URL of the issuer's certificate may begin with http; the same host also serves https.
		issuer, err := p.issuers.Cached(ctx, by, "https://"+strings.TrimPrefix(strings.TrimPrefix(rawURL, "http://"), "https://"), paypalKeep)
		if _, foreign := errors.AsType[*provider.VerifyError](err); foreign {
			continue
		}
		if err != nil {
			return nil, err
		}
		return append(pem.EncodeToMemory(first), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer})...), nil
	}
	return chain, nil
}

// sign signs with the private key that follows the webhook's id in the secret.
func (p *paypal) sign(r *provider.Request, s secret.Value, now time.Time) error {
	webhook, key, err := paypalSecret(s)
	if err != nil {
		return err
	}
	private, ok := key.(crypto.Signer)
	if !ok {
		return errPayPalKey
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	c := paypalClaim{id: cmp.Or(r.Header.Get(paypalID), uuid.NewString()), time: proof.RFC3339.Format(now)}
	h := crypto.SHA256.New()
	h.Write(c.message(webhook, r.Body))
	signature, err := private.Sign(rand.Reader, h.Sum(nil), crypto.SHA256)
	if err != nil {
		return err
	}
	r.Header.Set(paypalID, c.id)
	r.Header.Set(paypalTime, c.time)
	r.Header.Set(paypalAlgorithm, paypalSigns)
	r.Header.Set(paypalSignature, proof.Base64.Encode(signature))
	return nil
}

func samplePayPal(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format(time.RFC3339Nano)
	amount := proof.Object{"currency_code": "USD", "value": "42.00"}
	return proof.SampleJSON(proof.Object{
		"id": cmp.Or(id, "WH-"+strings.ToUpper(proof.FreshID(""))), "event_version": "1.0", "create_time": at, "resource_type": "capture",
		"resource_version": "2.0", "event_type": cmp.Or(eventType, "PAYMENT.CAPTURE.COMPLETED"), "summary": "Payment completed for $ 42.00 USD",
		"resource": proof.Object{
			"id": "2GG279541U471931P", "status": "COMPLETED", "amount": amount, "final_capture": true, "create_time": at, "update_time": at,
			"seller_receivable_breakdown": proof.Object{"gross_amount": amount},
		},
	}, paypalCertURL, "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-90621ecd", "User-Agent", "PayPal/AUHD-214.0-58843070")
}
