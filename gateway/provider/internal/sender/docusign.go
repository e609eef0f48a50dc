package sender

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// DocuSign knows DocuSign Connect with JSON bodies (SIM, "send individual
// messages"). Every key of the account signs in a header of its own.
// Source: developers.docusign.com/platform/webhooks/connect.
func DocuSign(provider.Options) (*provider.Provider, error) {
	s := &proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: http.CanonicalHeaderKey("X-DocuSign-Signature")}},
		Numbered: true,
		Hash:     sha256.New,
		Encoding: proof.Base64,
		Template: proof.Template{proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Raw},
	}
	when := []proof.Field{proof.At("/event"), proof.At("/generatedDateTime"), proof.At("/configurationId")}
	envelope := proof.HashedSome(append(when, proof.At("/data/accountId"), proof.At("/data/envelopeId")), proof.At("/data/recipientId"))
	other := proof.Hashed(append(when, proof.At("/data"))...) // templates, clickwraps, ...
	f := proof.Facts{
		Id: func(d *proof.Document) (string, error) {
			if proof.At("/data/envelopeId").Optional(d) == "" {
				return other(d)
			}
			return envelope(d)
		},
		Kind: proof.At("/event"), Version: proof.At("/apiVersion"), Occurred: proof.Clock{Pointer: "/generatedDateTime", Unit: proof.RFC3339},
	}
	return &provider.Provider{
		Name:  "docusign",
		Title: "DocuSign Connect",
		About: provider.About{
			Confirmed: provider.Unconfirmed,
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
		Verify:      s.Verify,
		Events:      f.Events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.CheckSecret,
		Sign:        s.Sign,
		Sample:      sampleDocuSign,
		Retry:       proof.RetrySigns{Number: proof.At("/retryCount")}.Of,
		MaxBody:     25 << 20,
		Deadline:    100 * time.Second,
		RetryWindow: 15 * proof.Day,
	}, nil
}

func sampleDocuSign(eventType, id string, now time.Time) *provider.Request {
	return proof.SampleJSON(proof.Object{
		"event": cmp.Or(eventType, "envelope-completed"), "apiVersion": "v2.1", "uri": "/restapi/v2.1/accounts/hooklatch/envelopes/1",
		"retryCount": 0, "configurationId": 10001, "generatedDateTime": now.UTC().Format(time.RFC3339Nano),
		"data": proof.Object{
			"accountId": "e8a1a3f0-0a0c-4a4f-8d60-7e1b3f1b2c11", "userId": "0f4b5d3c-1f2a-4e8a-9c35-5a7d9e2b6c22",
			"envelopeId": cmp.Or(id, uuid.NewString()),
		},
	})
}
