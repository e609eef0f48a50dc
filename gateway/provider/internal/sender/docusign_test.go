package sender

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// docusignXMLText returns a message in the older format, shortened.
func docusignXMLText(envelope, generated, status string) string {
	return `<?xml version="1.0" encoding="utf-8"?>
<DocuSignEnvelopeInformation xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="http://www.docusign.net/API/3.0">
  <EnvelopeStatus>
    <RecipientStatuses>
      <RecipientStatus><Type>Signer</Type><DeclineReason xsi:nil="true" /><Status>Completed</Status><RecipientId>r</RecipientId></RecipientStatus>
    </RecipientStatuses>
    <TimeGenerated>` + generated + `</TimeGenerated>
    <EnvelopeID>` + envelope + `</EnvelopeID>
    <Status>` + status + `</Status>
    <DocumentStatuses><DocumentStatus><ID>1</ID><Name>Order</Name></DocumentStatus></DocumentStatuses>
  </EnvelopeStatus>
  <TimeZone>Pacific Standard Time</TimeZone>
  <TimeZoneOffset>-7</TimeZoneOffset>
</DocuSignEnvelopeInformation>`
}

// docusignXMLDelivery returns a signed message in the older format.
func docusignXMLDelivery(t *testing.T, p *provider.Provider, body string) *provider.Request {
	t.Helper()
	r := &provider.Request{Method: http.MethodPost, URL: prooftest.URL(""), Header: http.Header{"Content-Type": {"text/xml; charset=utf-8"}}, Body: []byte(body)}
	require.NoError(t, p.Sign(r, secret.New(prooftest.Secret), prooftest.Now()))
	return r
}

func TestDocuSignXML(t *testing.T) {
	t.Parallel()
	p := declared(t, DocuSign, provider.Options{})
	r := docusignXMLDelivery(t, p, docusignXMLText("c5c02f0b", "2020-12-21T08:30:37.9661043", "Completed"))
	require.NoError(t, verify(t, p, prooftest.Secret, r))
	require.Equal(t, provider.Event{
		ID: "c5c02f0b:2020-12-21T08%3A30%3A37.9661043:Completed", Type: "envelope-completed", OccurredAt: time.Date(2020, 12, 21, 15, 30, 37, 966104300, time.UTC),
	}, theEvent(t, p, r))

	// One signature that matches is enough, and it covers the bytes as they arrived.
	signature := r.Header.Get("X-Docusign-Signature-1")
	r.Header.Set("X-Docusign-Signature-1", "AAAA")
	requireRefusal(t, provider.ReasonWrongSignature, verify(t, p, prooftest.Secret, r))
	r.Header.Set("X-Docusign-Signature-2", signature)
	require.NoError(t, verify(t, p, prooftest.Secret, r))
	r.Body = []byte(strings.Replace(string(r.Body), "\n", "\r\n", 1))
	requireRefusal(t, provider.ReasonWrongSignature, verify(t, p, prooftest.Secret, r))

	ids := map[string]bool{}
	for _, body := range []string{
		docusignXMLText("e", "2020-12-21T08:30:37.1", "Sent"),
		docusignXMLText("e", "2020-12-21T08:30:37.2", "Sent"), // a recipient has done something
		docusignXMLText("e", "2020-12-21T08:30:37.1", "Completed"),
		docusignXMLText("f", "2020-12-21T08:30:37.1", "Sent"),
	} {
		ids[theEvent(t, p, docusignXMLDelivery(t, p, body)).ID] = true
	}
	require.Len(t, ids, 4, "each message is a separate event")
}

// A message in XML needs only its envelope's id.
func TestDocuSignXMLWithoutStatusOrTime(t *testing.T) {
	t.Parallel()
	p := declared(t, DocuSign, provider.Options{})
	event := theEvent(t, p, docusignXMLDelivery(t, p, docusignXMLText("e", "2020-12-21T08:30:37.1", "")))
	require.Equal(t, "unknown", event.Type)
	sent := theEvent(t, p, docusignXMLDelivery(t, p, docusignXMLText("e", " ", "Sent")))
	require.Equal(t, "envelope-sent", sent.Type)
	voided := theEvent(t, p, docusignXMLDelivery(t, p, docusignXMLText("e", " ", "Voided")))
	require.NotEqual(t, sent.ID, voided.ID)
}

func TestDocuSignXMLThatIsNoMessage(t *testing.T) {
	t.Parallel()
	p := declared(t, DocuSign, provider.Options{})
	good := docusignXMLText("e", "2020-12-21T08:30:37.1", "Sent")
	const at = "DocuSignEnvelopeInformation/EnvelopeStatus/"
	for name, test := range map[string]struct {
		body, want string
		unreadable bool
	}{
		"no envelope":   {docusignXMLText("", "2020-12-21T08:30:37.1", "Sent"), at + "EnvelopeID is missing or empty", false},
		"two envelopes": {strings.Replace(good, "</EnvelopeID>", "</EnvelopeID><EnvelopeID>f</EnvelopeID>", 1), at + "EnvelopeID occurs more than once in the body", false},
		"two statuses":  {strings.Replace(good, "<TimeZone>", "<EnvelopeStatus><Status>Voided</Status></EnvelopeStatus><TimeZone>", 1), at + "Status occurs more than once in the body", false},
		"another root":  {"<soap:Envelope xmlns:soap='urn:s'/>", at + "EnvelopeID is missing or empty", false},
		"cut off":       {good[:len(good)-5], "the body is not readable XML", true},
		"an entity":     {`<!DOCTYPE a [<!ENTITY e "e">]>` + strings.Replace(good, ">e<", ">&e;<", 1), "the body is not readable XML", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := p.Events(docusignXMLDelivery(t, p, test.body))
			require.Equal(t, &provider.EventError{Unreadable: test.unreadable, Message: test.want}, err)
		})
	}
}

func TestDocuSignClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ local, offset, want string }{
		{"2014-10-06T01:41:40.6076508", "-7", "2014-10-06T08:41:40.6076508Z"},
		{"2014-10-06T01:41:40", "0", "2014-10-06T01:41:40Z"},
		{"2014-10-06T01:41:40.12", "5.5", "2014-10-05T20:11:40.12Z"},
		{"2014-10-06T01:41:40.12", "", ""},
		{"2014-10-06T01:41:40.12", "15", ""},
		{"2014-10-06T01:41:40.12", "NaN", ""},
		{"2014-10-06T01:41:40.12", "1h1", ""},
		{"2014-10-06", "-7", ""},
		{"", "-7", ""},
	} {
		got := ""
		if at := docusignClock(test.local, test.offset); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		require.Equal(t, test.want, got, test)
	}
}
