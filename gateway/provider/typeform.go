package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
)

// newTypeform knows the webhooks of Typeform's forms.
// Source: typeform.com/developers/webhooks, "Secure your webhooks".
func newTypeform(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "Typeform-Signature"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: base64Std,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	f := facts{
		id:       verbatim(at("/event_id")),
		kind:     at("/event_type"),
		occurred: clock{Pointer: "/form_response/submitted_at"},
	}
	return &Provider{
		Name:  "typeform",
		Title: "Typeform",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in base64 behind sha256=, in the header Typeform-Signature. No time is signed.",
			KeyRule:   "/event_id of the body.",
			Setup: []string{
				"In the form: Connect, Webhooks, Add a webhook, with the URL {url}.",
				"Edit the webhook and set a secret of your own making: it is the secret of the source.",
				"Switch the webhook on.",
			},
			Notes: []string{
				"Unconfirmed: that a delivery which is sent again keeps its event_id. form_response.token names the response itself; a route can use it as the key of its effect.",
				"Unconfirmed: the deadline of 30 s, and retries every few minutes for about 10 hours; 404 and 410 switch the webhook off at once.",
			},
			Backfill: "GET /forms/{form_id}/responses?since=&after=&page_size=1000.",
			Docs:     "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleTypeform,
		Deadline:    30 * time.Second,
		RetryWindow: 10 * time.Hour,
	}, nil
}

func sampleTypeform(eventType, id string, now time.Time) *Request {
	at := now.UTC().Format(time.RFC3339)
	field := object{"id": "DlXFaesGBpoF", "type": "short_text", "ref": "readable_ref_short_text"}
	return sampleJSON(object{
		"event_id": cmp.Or(id, strings.ToUpper(freshID(""))), "event_type": cmp.Or(eventType, "form_response"),
		"form_response": object{
			"form_id": "lT4Z3j", "token": freshID(""), "landed_at": at, "submitted_at": at, "hidden": object{},
			"definition": object{"id": "lT4Z3j", "title": "Webhooks example", "fields": []object{
				{"id": "DlXFaesGBpoF", "type": "short_text", "ref": "readable_ref_short_text", "title": "Where do you live?"},
			}},
			"answers": []object{{"type": "text", "text": "London", "field": field}},
		},
	})
}
