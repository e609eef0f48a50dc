package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Typeform declares Typeform's webhooks. Source: typeform.com/developers/webhooks, "Secure
// your webhooks".
func Typeform(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("Typeform-Signature", "sha256=", proof.Base64)
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/event_id")),
		Kind:     proof.At("/event_type"),
		Occurred: proof.Clock{Pointer: "/form_response/submitted_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "typeform",
		Title:          "Typeform",
		HeaderFamilies: []string{"Typeform-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in base64 after sha256=, in the header Typeform-Signature. No time is signed.",
			KeyRule: "/event_id of the body.",
			Setup: []string{
				"In the form, open Connect, Webhooks, Add a webhook, and enter the URL {url}.",
				"Edit the webhook and set a secret that you generated: it is the secret of the source.",
				"Switch the webhook on.",
			},
			Notes: []string{
				"Unconfirmed: a resent delivery keeps its event_id. form_response.token names the response itself; a route can use it as " +
					"the key of its effect.",
				"Unconfirmed: the deadline is 30 s, and Typeform retries every few minutes for about 10 hours. A response of 404 or 410 " +
					"switches off the webhook immediately.",
			},
			Backfill: "GET /forms/{form_id}/responses?since=&after=&page_size=1000 lists the responses to a form.",
			Docs:     "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
		},
		Events:      f.Events,
		Sample:      sampleTypeform,
		Deadline:    30 * time.Second,
		RetryWindow: 10 * time.Hour,
	}), nil
}

func sampleTypeform(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format(time.RFC3339)
	field := proof.Object{"id": "DlXFaesGBpoF", "type": "short_text", "ref": "readable_ref_short_text"}
	return proof.SampleJSON(proof.Object{
		"event_id": cmp.Or(id, strings.ToUpper(proof.FreshID(""))), "event_type": cmp.Or(eventType, "form_response"),
		"form_response": proof.Object{
			"form_id": "lT4Z3j", "token": proof.FreshID(""), "landed_at": at, "submitted_at": at, "hidden": proof.Object{},
			"definition": proof.Object{"id": "lT4Z3j", "title": "Webhooks example", "fields": []proof.Object{
				{"id": "DlXFaesGBpoF", "type": "short_text", "ref": "readable_ref_short_text", "title": "Where do you live?"},
			}},
			"answers": []proof.Object{{"type": "text", "text": "London", "field": field}},
		},
	})
}
