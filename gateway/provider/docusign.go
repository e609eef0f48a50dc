package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// newDocuSign knows DocuSign Connect with JSON bodies (SIM, "send individual
// messages"). Every key of the account signs in a header of its own.
// Source: developers.docusign.com/platform/webhooks/connect.
func newDocuSign(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: http.CanonicalHeaderKey("X-DocuSign-Signature")}},
		numbered: true,
		hash:     sha256.New,
		encoding: base64Std,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	when := []field{at("/event"), at("/generatedDateTime"), at("/configurationId")}
	envelope := hashedSome(append(when, at("/data/accountId"), at("/data/envelopeId")), at("/data/recipientId"))
	other := hashed(append(when, at("/data"))...) // templates, clickwraps, ...
	f := facts{
		id: func(d *document) (string, error) {
			if at("/data/envelopeId").optional(d) == "" {
				return other(d)
			}
			return envelope(d)
		},
		kind: at("/event"), version: at("/apiVersion"), occurred: clock{Pointer: "/generatedDateTime", unit: rfc3339},
	}
	return &Provider{
		Name:  "docusign",
		Title: "DocuSign Connect",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 of the body by each key of the account, in the headers X-DocuSign-Signature-1, -2 and so on. One is enough.",
			KeyRule: "DocuSign sends no event id: a hash of the event, the time it was generated, the configuration, the account, the envelope and " +
				"the recipient. retryCount does not count.",
			Setup: []string{
				"Open Settings, Connect in DocuSign eSignature, Connect Keys, add a key and use it, as it is shown, for the secret of the source.",
				"Add a custom configuration with the URL {url}, the data format REST v2.1 and the event message delivery mode Send Individual Messages.",
				"Turn on Include HMAC Signature and Require Acknowledgement: without the latter nothing is sent again.",
			},
			Notes: []string{
				"XML and aggregate messages are refused: choose individual messages as JSON.",
				"With the documents included a body can be large: raise max_body of the source, or fetch the documents by the API.",
				"Sources disagree on retries: 45 attempts in 7 days, or 15 days (unconfirmed). The longer one counts here.",
				"Unconfirmed: the deadline of 100 seconds.",
			},
			Backfill: "GET /restapi/v2.1/accounts/{id}/connect/failures, and envelopes by from_date (unconfirmed).",
			Docs:     "https://developers.docusign.com/platform/webhooks/connect/",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleDocuSign,
		Retry:       retrySigns{number: at("/retryCount")}.of,
		MaxBody:     25 << 20,
		Deadline:    100 * time.Second,
		RetryWindow: 15 * day,
	}, nil
}

func sampleDocuSign(eventType, id string, now time.Time) *Request {
	return sampleJSON(object{
		"event": cmp.Or(eventType, "envelope-completed"), "apiVersion": "v2.1", "uri": "/restapi/v2.1/accounts/hooklatch/envelopes/1",
		"retryCount": 0, "configurationId": 10001, "generatedDateTime": now.UTC().Format(time.RFC3339Nano),
		"data": object{
			"accountId": "e8a1a3f0-0a0c-4a4f-8d60-7e1b3f1b2c11", "userId": "0f4b5d3c-1f2a-4e8a-9c35-5a7d9e2b6c22",
			"envelopeId": cmp.Or(id, uuid.NewString()),
		},
	})
}
