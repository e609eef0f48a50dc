package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// newOkta knows event hooks: a list of events in an envelope, behind a fixed
// header.
// Source: github.com/okta/okta-developer-docs, concepts/event-hooks.
func newOkta(o Options) (*Provider, error) {
	t := &staticToken{header: authorization}
	if o.Header != "" {
		if err := validateHeader("header", o.Header); err != nil {
			return nil, err
		}
		t.header = http.CanonicalHeaderKey(o.Header)
	}
	rule := each("/data/events", facts{
		id:       verbatim(at("/uuid")),
		kind:     at("/eventType"),
		occurred: clock{Pointer: "/published"},
	}.of)
	return &Provider{
		Name:  "okta",
		Title: "Okta",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "Nothing is signed. A header carries the secret itself: Authorization, or the one named by the option header. It is " +
				"never stored or logged.",
			KeyRule: "uuid of each event, which the System Log has too. Not `eventId` of the envelope, which names the delivery.",
			Setup: []string{
				"Admin Console, Workflow, Event Hooks, Create Event Hook: endpoint URL {url}.",
				"Authentication field Authorization (or another one: then set header of the source), authentication secret a long random text: " +
					"all of it is the secret of the source.",
				"Choose the events, save, and press Verify while the gateway runs.",
			},
			Notes: []string{
				"Whoever sees one request can make any other: it needs TLS all the way.",
				"Okta waits 3 s and tries again once at most. It never repeats what was answered 4xx. What was missed is found in the System Log only.",
				"No order, and no limit on how late an event comes.",
				"Unconfirmed: the retry comes within minutes.",
			},
			Backfill: "GET /api/v1/logs?since=: the System Log, with the same uuids. Unconfirmed: 90 days back.",
			Docs:     "https://developer.okta.com/docs/concepts/event-hooks/",
		},
		Verify:        t.verify,
		Events:        rule.events,
		Handshake:     oktaHandshake,
		Methods:       []string{http.MethodGet, http.MethodPost},
		Answer:        func(*Request) *Answer { return &Answer{Status: http.StatusNoContent} },
		CheckSecret:   t.check,
		Sign:          t.sign,
		Sample:        sampleOkta,
		SecretHeaders: []string{t.header},
		Deadline:      3 * time.Second,
		RetryWindow:   10 * time.Minute,
	}, nil
}

const oktaChallenge = "X-Okta-Verification-Challenge"

// maxChallenge bounds what a handshake echoes of an unsigned request.
const maxChallenge = 1024

// oktaHandshake answers the one GET by which Okta verifies the endpoint. It is
// not signed, and its answer tells nothing of ours.
func oktaHandshake(_ context.Context, r *Request, _ []secret.Value, _ time.Time) (*Answer, error) {
	if r.Method != http.MethodGet {
		return nil, nil
	}
	challenge, err := theHeader(r.Header, oktaChallenge, ReasonMissingToken)
	switch {
	case err != nil:
		return nil, err
	case len(challenge) > maxChallenge || !clean(challenge):
		return nil, &VerifyError{Reason: ReasonMalformedToken, Detail: oktaChallenge}
	}
	body, err := json.Marshal(map[string]string{"verification": challenge})
	if err != nil {
		return nil, err
	}
	return &Answer{Status: http.StatusOK, ContentType: jsonType, Body: body}, nil
}

func sampleOkta(eventType, id string, now time.Time) *Request {
	at := now.UTC().Format(time.RFC3339Nano)
	return sampleJSON(object{
		"eventType": "com.okta.event_hook", "eventTypeVersion": "1.0", "cloudEventsVersion": "0.1", "eventId": uuid.NewString(),
		"eventTime": at, "source": "https://example.okta.com/api/v1/eventHooks/who8vt36qfNpCGz9H1e6", "contentType": jsonType,
		"data": object{"events": []object{{
			"uuid": cmp.Or(id, uuid.NewString()), "published": at, "eventType": cmp.Or(eventType, "user.lifecycle.create"), "version": "0",
			"displayMessage": "Sample event", "severity": "INFO", "outcome": object{"result": "SUCCESS"},
			"actor":  object{"id": "00uttidj01jqL21aM1d6", "type": "User", "alternateId": "ada@example.com", "displayName": "Ada Lovelace"},
			"target": []object{{"id": "00uxc78lMKUMVIHLTAXY", "type": "User", "alternateId": "grace@example.com", "displayName": "Grace Hopper"}},
		}}},
	})
}
