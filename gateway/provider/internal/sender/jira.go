package sender

import (
	"cmp"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Jira declares the webhooks that a Jira Cloud administrator registers. Source:
// developer.atlassian.com/cloud/jira/platform/webhooks.
func Jira(provider.Options) (*provider.Provider, error) {
	id, attempt := proof.InHeader("X-Atlassian-Webhook-Identifier"), proof.InHeader("X-Atlassian-Webhook-Retry")
	s := proof.SignedBody("X-Hub-Signature", "sha256=", proof.Hex)
	s.Single = []string{id.Header}
	f := proof.Facts{ID: proof.Verbatim(id), Kind: proof.At("/webhookEvent"), Occurred: proof.Clock{Pointer: "/timestamp", Unit: proof.Milliseconds}}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "jira",
		Title:          "Jira Cloud",
		HeaderFamilies: []string{"X-Atlassian-Webhook-*", "X-Hub-Signature*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Others,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Others,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 of the body in the header X-Hub-Signature, when the webhook has a secret.",
			KeyRule: "The header X-Atlassian-Webhook-Identifier, which is the same in all attempts.",
			Setup: []string{
				"Open Settings, System, WebHooks in Jira and create a webhook with the URL {url}.",
				"Set its secret, and use the same one as the secret of the source: without one, Jira signs nothing and every delivery is refused.",
			},
			Notes: []string{
				"Neither the id nor a time is signed: anyone who saw a delivery can resend it under another id. The replay guard detects that.",
				"The webhook of a workflow's post function names no event; Hooklatch uses the type transition.",
				"A webhook with the option to exclude the body is accepted. Its event has the type unknown.",
				"Webhooks of Connect and OAuth apps carry a JSON Web Token instead, which does not cover the body; this provider refuses them.",
				"Third-party texts describe the headers and the retries (up to five, 5 to 15 minutes apart). Unconfirmed: the deadline " +
					"is 30 seconds, and Jira keeps failed webhooks for 72 hours.",
			},
			Backfill: "A search in JQL with updated >= lists issues. For dynamic webhooks, GET /rest/api/3/webhook/failed lists failures " +
				"(unconfirmed).",
			Docs: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
		},
		Events: func(r *provider.Request) ([]provider.Event, error) {
			if len(r.Body) == 0 { // the webhook's option to exclude the body
				return proof.Facts{ID: f.ID, Kind: proof.Fixed(proof.UnknownType)}.Events(r)
			}
			d := &proof.Document{R: r}
			// A workflow's post function sends no event name.
			if transition, err := d.At("/transition"); err == nil && transition.Exists() {
				f := f
				f.Fallback = proof.Fixed("transition")
				return f.Of(d)
			}
			return f.Of(d)
		},
		Sample:       sampleJira,
		UnsignedID:   true,
		ReplayToken:  s.ReplayToken,
		Retry:        proof.RetrySigns{Number: attempt}.Of,
		Deadline:     30 * time.Second,
		RetryWindow:  75 * time.Minute,
		ResendWindow: 3 * proof.Day, // failed deliveries can be fetched and forwarded
	}), nil
}

func sampleJira(eventType, id string, now time.Time) *provider.Request {
	at := now.UTC().Format("2006-01-02T15:04:05.000-0700")
	id = cmp.Or(id, uuid.NewString())
	issue := strconv.FormatInt(proof.NumberOf(id), 10)
	return proof.SampleJSON(proof.Object{
		"timestamp": now.UnixMilli(), "webhookEvent": cmp.Or(eventType, "jira:issue_created"), "issue_event_type_name": "issue_created",
		"user": proof.Object{"accountId": "5b10a2844c20165700ede21g", "displayName": "Ada Lovelace", "active": true},
		"issue": proof.Object{
			"id": issue, "key": "HL-1", "self": "https://hooklatch-demo.atlassian.net/rest/api/2/issue/" + issue,
			"fields": proof.Object{
				"summary": "Found a bug", "issuetype": proof.Object{"name": "Bug"}, "status": proof.Object{"name": "To Do"},
				"project": proof.Object{"key": "HL", "name": "Hooklatch"}, "created": at, "updated": at,
			},
		},
	}, "X-Atlassian-Webhook-Identifier", id)
}
