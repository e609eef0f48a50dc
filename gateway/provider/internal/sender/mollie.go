package sender

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type mollie struct {
	scheme  proof.Scheme
	classic proof.StaticToken
}

const mollieSignature = "X-Mollie-Signature"

// Mollie declares Mollie's signed webhooks with events, and the classic webhooks. A classic webhook
// is an unsigned form with the changed object's id; a token in the URL authenticates the sender.
// Source: docs.mollie.com/reference/webhooks-new and /reference/webhooks; mollie/mollie-api-php,
// SignatureValidator.
func Mollie(provider.Options) (*provider.Provider, error) {
	m := &mollie{classic: proof.StaticToken{Query: "token"}, scheme: proof.Scheme{
		Headers: []proof.HeaderNames{{Signature: mollieSignature}},
		// Mollie's own SDK also accepts a signature without the algorithm.
		Pairs:    &proof.Pairs{Separator: ",", Assign: "=", Signature: "sha256", Bare: true},
		Hash:     sha256.New,
		Encoding: proof.Hex,
		Template: proof.Template{proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Raw},
	}}
	return &provider.Provider{
		Name:           "mollie",
		Title:          "Mollie",
		HeaderFamilies: []string{"X-Mollie-*"},
		About:          aboutMollie(),
		Verify:         m.verify,
		Events:         mollieEvents,
		CheckSecret:    m.scheme.CheckSecret,
		Sign:           m.sign,
		Sample:         sampleMollie,
		SecretQuery:    []string{m.classic.Query},
		NormalSecret:   m.classic.Normal,
		Deadline:       15 * time.Second,
		RetryWindow:    26 * time.Hour,
	}, nil
}

func aboutMollie() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Others,
			EventID:     provider.Others,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: "HMAC-SHA256 of the body in the header X-Mollie-Signature. Classic webhooks (a form with an id) are not signed: " +
			"they carry the secret of the source in the parameter token of their URL.",
		KeyRule: "The id of the event. Classic webhooks name only the object that changed, so each of their deliveries is an event.",
		Setup: []string{
			"Create a webhook in the Dashboard (Developers, Webhooks) or with the Webhooks API, with the URL {url}.",
			"Use its signing secret as the secret of the source.",
			"For classic webhooks, choose a long random text as (another) secret of the source. Set webhookUrl of each payment, order or " +
				"subscription to {url}, followed by `?token=` and that secret.",
		},
		Notes: []string{
			"A classic webhook contains only an id: fetch the object from the API to learn its state.",
			"A retry of a classic webhook is a new event, because nothing distinguishes it from the next change. Make the work " +
				"idempotent, or set dedup: content to merge copies that arrive within a short time.",
			"For 24 hours after the secret is changed, Mollie signs with the old and the new one.",
			"Hooklatch answers 200 for every id: any other response would reveal which ids exist.",
		},
		Backfill: "GET /v2/events/{id} of the Webhook Events API returns one event, and payments can be listed.",
		Docs:     "https://docs.mollie.com/reference/webhooks-new",
	}
}

func (m *mollie) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	signatures := r.Header[mollieSignature]
	if len(signatures) == 0 && proof.IsForm(r) {
		return m.classic.Verify(ctx, r, secrets, now)
	}
	if len(signatures) > 1 { // two headers while a secret is replaced
		joined := *r
		joined.Header = maps.Clone(r.Header)
		joined.Header[mollieSignature] = []string{strings.Join(signatures, ",")}
		r = &joined
	}
	return m.scheme.Verify(ctx, r, secrets, now)
}

func mollieEvents(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	if !proof.IsForm(r) {
		return proof.Facts{ID: proof.Verbatim(proof.At("/id")), Kind: proof.At("/type"), Occurred: proof.Clock{Pointer: "/createdAt"}}.Of(d)
	}
	// A form contains only the object's id, which is the same for every change of the object. If it
	// were the key, all changes but the first would be lost as duplicates.
	id := proof.InForm("id")
	return proof.Facts{ID: proof.EveryTime(id), Kind: proof.Fixed(mollieKind(id.Optional(d)))}.Of(d)
}

// mollieKind derives a classic webhook's type from the prefix of the object's id.
func mollieKind(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return cmp.Or(map[string]string{"tr": "payment", "ord": "order", "sub": "subscription"}[prefix], proof.UnknownType)
}

// sign puts the secret into the URL if the body is a form, and signs any other body.
func (m *mollie) sign(r *provider.Request, key secret.Value, now time.Time) error {
	if !proof.IsForm(r) {
		return m.scheme.Sign(r, key, now)
	}
	delete(r.Header, mollieSignature)
	return m.classic.Sign(r, key, now)
}

func sampleMollie(eventType, id string, now time.Time) *provider.Request {
	switch eventType {
	case "payment", "order", "subscription":
		prefix := map[string]string{"payment": "tr_", "order": "ord_", "subscription": "sub_"}[eventType]
		return proof.Sample([]byte(url.Values{"id": {cmp.Or(id, proof.FreshID(prefix))}}.Encode()), proof.FormType)
	}
	entity := proof.FreshID("pl_")
	return proof.SampleJSON(proof.Object{
		"resource": "event", "id": cmp.Or(id, proof.FreshID("event_")), "type": cmp.Or(eventType, "payment-link.paid"), "entityId": entity,
		"createdAt": now.UTC().Format(time.RFC3339Nano),
		"_embedded": proof.Object{"entity": proof.Object{
			"resource": "payment-link", "id": entity, "mode": "test", "description": "Warm socks",
			"amount": proof.Object{"value": "42.00", "currency": "EUR"}, "paidAt": now.UTC().Format(time.RFC3339),
		}},
	})
}
