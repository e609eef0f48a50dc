package sender

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/elements"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// DocuSign declares DocuSign Connect with JSON bodies (SIM, "send individual messages"), and
// with the XML of older configurations. Each of the account's keys signs every body in a
// separate header. Source: developers.docusign.com/platform/webhooks/connect, .../validate and
// .../legacy-message-formats.
func DocuSign(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody(http.CanonicalHeaderKey("X-DocuSign-Signature"), "", proof.Base64)
	s.Numbered = true
	f := proof.Facts{
		ID:   proof.Whole("/retryCount"),
		Kind: proof.At("/event"), Version: proof.At("/apiVersion"), Occurred: proof.Clock{Pointer: "/generatedDateTime", Unit: proof.RFC3339},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "docusign",
		Title:          "DocuSign Connect",
		HeaderFamilies: []string{"X-Docusign-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 of the body with each key of the account, in the headers X-DocuSign-Signature-1, -2 and so on. One valid signature is enough.",
			KeyRule: "DocuSign sends no event id. For JSON: a hash of the whole body without retryCount. " +
				"For XML: the envelope's id, TimeGenerated and the envelope's status.",
			Setup: []string{
				"Open Settings, Connect, Connect Keys in DocuSign eSignature. Add a key and use it, as shown, as the secret of the " +
					"source.",
				"Add a custom configuration with the URL {url}, the data format REST v2.1 and the event message delivery mode Send Individual Messages. " +
					"Older configurations may keep the data format XML.",
				"Turn on Include HMAC Signature and Require Acknowledgement: without the latter, DocuSign never retries.",
			},
			Notes: []string{
				proof.KeyHasMore,
				"SOAP messages are refused, and aggregate messages in JSON are not supported: choose individual messages as JSON, or XML.",
				"XML contains the state of an envelope, not the change. The event type is envelope- and that state (envelope-sent, " +
					"envelope-completed, ...), even if only a recipient acted.",
				"Unconfirmed: resent XML keeps its TimeGenerated.",
				"A body that includes the documents can be large: raise max_body of the source, or fetch the documents from the API.",
				"Texts about DocuSign disagree on the retries: 45 attempts in 7 days, or 15 days (unconfirmed). Hooklatch uses the " +
					"longer time.",
				"Unconfirmed: the deadline is 100 seconds.",
			},
			Backfill: "GET /restapi/v2.1/accounts/{id}/connect/failures lists failures, and envelopes can be listed by from_date " +
				"(unconfirmed).",
			Docs: "https://developers.docusign.com/platform/webhooks/connect/",
		},
		Events: func(r *provider.Request) ([]provider.Event, error) {
			if elements.IsXML(r.Body) {
				return docusignXML(r)
			}
			return f.Events(r)
		},
		Sample:      sampleDocuSign,
		Retry:       proof.RetrySigns{Number: proof.At("/retryCount")}.Of,
		OtherBodies: "XML",
		MaxBody:     25 << 20,
		Deadline:    100 * time.Second,
		RetryWindow: 15 * proof.Day,
	}), nil
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

// Element paths in Connect's older format. A message contains an envelope's state, but does not say
// which part has just changed. Source:
// developers.docusign.com/platform/webhooks/connect/legacy-message-formats.
const (
	docusignEnvelope = "DocuSignEnvelopeInformation/EnvelopeStatus/EnvelopeID"
	docusignStatus   = "DocuSignEnvelopeInformation/EnvelopeStatus/Status"
	docusignTime     = "DocuSignEnvelopeInformation/EnvelopeStatus/TimeGenerated"
	docusignOffset   = "DocuSignEnvelopeInformation/TimeZoneOffset" // in hours
)

// docusignXML describes an XML message. The event's type is the type that the newer format uses for
// this status of an envelope.
func docusignXML(r *provider.Request) ([]provider.Event, error) {
	found, err := elements.Read(r.Body, docusignEnvelope, docusignStatus, docusignTime, docusignOffset)
	if err != nil {
		return nil, err
	}
	var parts [3]string
	if parts[0], err = found.Text(docusignEnvelope); err != nil {
		return nil, err
	}
	for i, path := range []string{docusignTime, docusignStatus} {
		if parts[i+1], err = found.Text(path); err != nil {
			parts[i+1] = ""
		}
	}
	if parts[1] == "" { // without a time, only the body distinguishes the envelope's messages
		parts[1] = proof.HashOf(string(r.Body))
	}
	kind := proof.UnknownType
	if parts[2] != "" && len(parts[2]) < proof.MaxText-len("envelope-") {
		kind = "envelope-" + strings.ToLower(parts[2])
	}
	return []provider.Event{{
		ID:         proof.Join(parts[:]...),
		Type:       kind,
		OccurredAt: docusignClock(parts[1], found[docusignOffset]),
	}}, nil
}

// docusignClock reads a local time and its zone's offset from UTC. Without a usable offset it
// returns the zero time, because no time is better than a time that is wrong by hours.
func docusignClock(local, offset string) time.Time {
	t, err := time.Parse("2006-01-02T15:04:05.999999999", local)
	if err != nil || t.Year() < 1970 {
		return time.Time{}
	}
	east, err := strconv.ParseFloat(offset, 64)
	if err != nil || !(math.Abs(east) <= 14) { // NaN is refused too
		return time.Time{}
	}
	return t.Add(-time.Duration(east * float64(time.Hour)))
}
