package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// newJira knows the webhooks an administrator of Jira Cloud registers.
// Source: developer.atlassian.com/cloud/jira/platform/webhooks.
func newJira(Options) (*Provider, error) {
	id, attempt := inHeader("X-Atlassian-Webhook-Identifier"), inHeader("X-Atlassian-Webhook-Retry")
	s := &scheme{
		headers:  []headerNames{{signature: "X-Hub-Signature"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   []string{id.Header},
	}
	f := facts{id: verbatim(id), kind: at("/webhookEvent"), occurred: clock{Pointer: "/timestamp", unit: milliseconds}}
	return &Provider{
		Name:  "jira",
		Title: "Jira Cloud",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 of the body in the header X-Hub-Signature, when the webhook has a secret.",
			KeyRule:   "The header X-Atlassian-Webhook-Identifier, which is the same in all attempts.",
			Setup: []string{
				"Open Settings, System, WebHooks in Jira and create a webhook with the URL {url}.",
				"Set its secret, and use the same for the secret of the source: without one Jira signs nothing and every delivery is refused.",
			},
			Notes: []string{
				"The id is not signed, and no time is either: whoever saw a delivery can send it again under another id. The replay guard finds that.",
				"Webhooks of Connect and OAuth apps carry a JSON Web Token instead, which does not cover the body; this provider refuses them.",
				"Headers and retries (up to five, 5 to 15 minutes apart) come from secondary sources; the deadline of 30 seconds and the " +
					"72 hours for which failed webhooks are kept are unconfirmed.",
			},
			Backfill: "JQL with updated >=; for dynamic webhooks GET /rest/api/3/webhook/failed (unconfirmed).",
			Docs:     "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
		},
		Verify:       s.verify,
		Events:       f.events,
		Methods:      []string{http.MethodPost},
		CheckSecret:  s.checkSecret,
		Sign:         s.sign,
		Sample:       sampleJira,
		UnsignedID:   true,
		ReplayToken:  s.replayToken,
		Retry:        retrySigns{number: attempt}.of,
		Deadline:     30 * time.Second,
		RetryWindow:  75 * time.Minute,
		ResendWindow: 3 * day, // what failed can be fetched and sent on
	}, nil
}

func sampleJira(eventType, id string, now time.Time) *Request {
	at := now.UTC().Format("2006-01-02T15:04:05.000-0700")
	id = cmp.Or(id, uuid.NewString())
	issue := strconv.FormatInt(numberOf(id), 10)
	return sampleJSON(object{
		"timestamp": now.UnixMilli(), "webhookEvent": cmp.Or(eventType, "jira:issue_created"), "issue_event_type_name": "issue_created",
		"user": object{"accountId": "5b10a2844c20165700ede21g", "displayName": "Ada Lovelace", "active": true},
		"issue": object{
			"id": issue, "key": "HL-1", "self": "https://hooklatch-demo.atlassian.net/rest/api/2/issue/" + issue,
			"fields": object{
				"summary": "Found a bug", "issuetype": object{"name": "Bug"}, "status": object{"name": "To Do"},
				"project": object{"key": "HL", "name": "Hooklatch"}, "created": at, "updated": at,
			},
		},
	}, "X-Atlassian-Webhook-Identifier", id)
}
