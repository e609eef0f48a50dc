package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// mollie knows Mollie's signed webhooks with events, and the classic ones: a
// form with the id of what changed, which Mollie does not sign at all. The
// latter are proven by a token in the URL.
// Source: docs.mollie.com/reference/webhooks-new and /reference/webhooks;
// mollie/mollie-api-php, SignatureValidator.
type mollie struct {
	scheme  scheme
	classic staticToken
}

const mollieSignature = "X-Mollie-Signature"

func newMollie(Options) (*Provider, error) {
	m := &mollie{classic: staticToken{query: "token"}, scheme: scheme{
		headers:  []headerNames{{signature: mollieSignature}},
		pairs:    &pairs{separator: ",", assign: "=", signature: "sha256"},
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}}
	return &Provider{
		Name:        "mollie",
		Title:       "Mollie",
		About:       aboutMollie(),
		Verify:      m.verify,
		Events:      mollieEvents,
		Methods:     []string{http.MethodPost},
		CheckSecret: m.scheme.checkSecret,
		Sign:        m.sign,
		Sample:      sampleMollie,
		SecretQuery: []string{m.classic.query},
		Deadline:    15 * time.Second,
		RetryWindow: 26 * time.Hour,
	}, nil
}

func aboutMollie() About {
	return About{
		Confirmed: Secondary,
		Signing: "HMAC-SHA256 of the body in the header X-Mollie-Signature. Classic webhooks (a form with an id) are not signed: " +
			"they are proven by the secret of the source in the parameter token of their URL.",
		KeyRule: "The id of the event. Classic webhooks name only the object that changed, each time the same, so every delivery of one is an event.",
		Setup: []string{
			"Create a webhook in the Dashboard (Developers, Webhooks) or by the Webhooks API, with the URL {url}.",
			"Use its signing secret for the secret of the source.",
			"For classic webhooks, choose a long random text as (another) secret of the source, and give {url} with `?token=` and " +
				"that secret behind it as webhookUrl of each payment, order or subscription.",
		},
		Notes: []string{
			"A classic webhook says nothing but an id: fetch the object from the API to learn its state.",
			"Retries of a classic webhook are events of their own, since nothing tells them from the next change: make the work idempotent, " +
				"or set dedup: content to take copies within a short time for one.",
			"For 24 hours after the secret was changed, Mollie signs with the old and the new one.",
			"Answer 200 also to ids you do not know: anything else tells a stranger which ones exist.",
		},
		Backfill: "GET /v2/events/{id} of the Webhook Events API, and the list of payments.",
		Docs:     "https://docs.mollie.com/reference/webhooks-new",
	}
}

func (m *mollie) verify(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	signatures := r.Header[mollieSignature]
	if len(signatures) == 0 && isForm(r) {
		return m.classic.verify(ctx, r, secrets, now)
	}
	if len(signatures) > 1 { // two headers while a secret is replaced
		joined := *r
		joined.Header = maps.Clone(r.Header)
		joined.Header[mollieSignature] = []string{strings.Join(signatures, ",")}
		r = &joined
	}
	return m.scheme.verify(ctx, r, secrets, now)
}

func mollieEvents(r *Request) ([]Event, error) {
	d := &document{r: r}
	if !isForm(r) {
		return facts{id: verbatim(at("/id")), kind: at("/type"), occurred: clock{Pointer: "/createdAt"}}.of(d)
	}
	// The same id comes with every change, and nothing else comes with it: a
	// key of it would lose all changes but the first.
	id := inForm("id")
	return facts{id: everyTime(id), kind: fixed(mollieKind(id.optional(d)))}.of(d)
}

// mollieKind tells by the prefix of its id what a classic webhook is about.
func mollieKind(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return cmp.Or(map[string]string{"tr": "payment", "ord": "order", "sub": "subscription"}[prefix], unknownType)
}

// sign puts the secret into the URL of a form, and signs any other body.
func (m *mollie) sign(r *Request, key secret.Value, now time.Time) error {
	if !isForm(r) {
		return m.scheme.sign(r, key, now)
	}
	delete(r.Header, mollieSignature)
	return m.classic.sign(r, key, now)
}

func sampleMollie(eventType, id string, now time.Time) *Request {
	switch eventType {
	case "payment", "order", "subscription":
		prefix := map[string]string{"payment": "tr_", "order": "ord_", "subscription": "sub_"}[eventType]
		return sample([]byte(url.Values{"id": {cmp.Or(id, freshID(prefix))}}.Encode()), formType)
	}
	entity := freshID("pl_")
	return sampleJSON(object{
		"resource": "event", "id": cmp.Or(id, freshID("event_")), "type": cmp.Or(eventType, "payment-link.paid"), "entityId": entity,
		"createdAt": now.UTC().Format(time.RFC3339Nano),
		"_embedded": object{"entity": object{
			"resource": "payment-link", "id": entity, "mode": "test", "description": "Warm socks",
			"amount": object{"value": "42.00", "currency": "EUR"}, "paidAt": now.UTC().Format(time.RFC3339),
		}},
	})
}
