package sender

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Okta declares event hooks: a list of events in an envelope, authenticated by a fixed header.
// Source: github.com/okta/okta-developer-docs, concepts/event-hooks.
func Okta(o provider.Options) (*provider.Provider, error) {
	t := &proof.StaticToken{Header: proof.Authorization}
	if o.Header != "" {
		if err := proof.ValidateHeader("header", o.Header); err != nil {
			return nil, err
		}
		t.Header = http.CanonicalHeaderKey(o.Header)
	}
	rule := proof.Each("/data/events", proof.Facts{
		ID:       proof.Verbatim(proof.At("/uuid")),
		Kind:     proof.At("/eventType"),
		Occurred: proof.Clock{Pointer: "/published"},
	}.Of)
	return &provider.Provider{
		Name:           "okta",
		Title:          "Okta",
		HeaderFamilies: []string{"X-Okta-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.Documentation,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "Nothing is signed. A header carries the secret itself: Authorization, or the header that the option header names. " +
				"The secret is never stored or logged.",
			KeyRule: "uuid of each event, which is also in the System Log. `eventId` of the envelope names the delivery, not the event.",
			Setup: []string{
				"Open Admin Console, Workflow, Event Hooks, Create Event Hook, and enter the endpoint URL {url}.",
				"Enter Authorization as the authentication field, and a long random text as the authentication secret. The whole text is " +
					"the secret of the source. For another header, set `header` of the source.",
				"Choose the events, save, and press Verify while the gateway runs.",
			},
			Notes: []string{
				"Anyone who sees one request can forge any other: use TLS on the whole path.",
				"Okta waits 3 s and retries at most once, and never after a 4xx. Only the System Log contains missed events.",
				"Okta guarantees neither the order nor the maximum delay of events.",
				"Unconfirmed: the retry follows within minutes.",
			},
			Backfill: "GET /api/v1/logs?since= reads the System Log, with the same uuids. Unconfirmed: it goes back 90 days.",
			Docs:     "https://developer.okta.com/docs/concepts/event-hooks/",
		},
		List:          oktaList(),
		Verify:        t.Verify,
		Challenge:     proof.ChallengeOf(t.Header, ""),
		Events:        rule.Events,
		Handshake:     oktaHandshake,
		Methods:       []string{http.MethodGet, http.MethodPost},
		Answer:        func(*provider.Request) *provider.Answer { return &provider.Answer{Status: http.StatusNoContent} },
		CheckSecret:   t.Check,
		Sign:          t.Sign,
		Sample:        sampleOkta,
		SecretHeaders: []string{t.Header},
		Deadline:      3 * time.Second,
		RetryWindow:   10 * time.Minute,
	}, nil
}

const oktaChallenge = "X-Okta-Verification-Challenge"

// maxChallenge is the maximum length, in bytes, of the text that oktaHandshake echoes from an
// unsigned request.
const maxChallenge = 1024

// oktaHandshake answers the single GET by which Okta verifies the endpoint. The GET is not signed,
// and the response contains no data of ours.
func oktaHandshake(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
	if r.Method != http.MethodGet {
		return nil, nil
	}
	challenge, err := proof.TheHeader(r.Header, oktaChallenge, provider.ReasonMissingToken)
	switch {
	case err != nil:
		return nil, err
	case len(challenge) > maxChallenge || !proof.Clean(challenge):
		return nil, &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: oktaChallenge}
	}
	body, err := json.Marshal(map[string]string{"verification": challenge})
	if err != nil {
		return nil, err
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: proof.JSONType, Body: body}, nil
}

func sampleOkta(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format(time.RFC3339Nano)
	return proof.SampleJSON(proof.Object{
		"eventType": "com.okta.event_hook", "eventTypeVersion": "1.0", "cloudEventsVersion": "0.1", "eventId": uuid.NewString(),
		"eventTime": at, "source": "https://example.okta.com/api/v1/eventHooks/who8vt36qfNpCGz9H1e6", "contentType": proof.JSONType,
		"data": proof.Object{"events": []proof.Object{{
			"uuid": cmp.Or(id, uuid.NewString()), "published": at, "eventType": cmp.Or(eventType, "user.lifecycle.create"), "version": "0",
			"displayMessage": "Sample event", "severity": "INFO", "outcome": proof.Object{"result": "SUCCESS"},
			"actor":  proof.Object{"id": "00uttidj01jqL21aM1d6", "type": "User", "alternateId": "ada@example.com", "displayName": "Ada Lovelace"},
			"target": []proof.Object{{"id": "00uxc78lMKUMVIHLTAXY", "type": "User", "alternateId": "grace@example.com", "displayName": "Grace Hopper"}},
		}}},
	})
}

// oktaList reads the System Log as a feed. Source: github.com/okta/okta-developer-docs,
// reference/system-log-query.
func oktaList() *provider.List {
	return &provider.List{
		Endpoint: `[A-Za-z0-9]+`, Example: "who8vt36qfNpCGz9H1e6",
		Rights:     "`okta.logs.read` and `okta.eventHooks.read`; a read-only administrator has them. `base_url` is `https://YOUR-ORG.okta.com`.",
		Credential: "Authorization: SSWS {token}",
		Rate:       0.5, BackDays: 90,
		Path: "/api/v1/logs?limit=100&sortOrder=ASCENDING&since={since}",
		Next: provider.Next{Link: true}, Order: provider.Feed,
		Ref: "/uuid", Time: "/published", Wrap: `{"data":{"events":[{item}]}}`,
		Check: &provider.EndpointFacts{
			Path: "/api/v1/eventHooks/{endpoint}", URL: "channel.config.uri", On: "status", OnIs: []string{"ACTIVE"}, Types: "events.items",
			WhoTurnsOff: "A user deactivated the event hook.",
		},
	}
}
