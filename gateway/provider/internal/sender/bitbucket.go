package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Bitbucket declares Bitbucket Cloud and Bitbucket Data Center, which sign in the same way but
// name the id differently. Source: support.atlassian.com/bitbucket-cloud, "Manage webhooks",
// "Troubleshoot webhooks"; confluence.atlassian.com/bitbucketserver, "Event payload".
func Bitbucket(provider.Options) (*provider.Provider, error) {
	cloud, dataCenter, event := proof.InHeader("X-Request-UUID"), proof.InHeader("X-Request-Id"), proof.InHeader("X-Event-Key")
	attempt := proof.InHeader("X-Attempt-Number")
	s := proof.SignedBody("X-Hub-Signature", "sha256=", proof.Hex)
	s.Single = []string{cloud.Header, dataCenter.Header, event.Header}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "bitbucket",
		Title:          "Bitbucket",
		HeaderFamilies: []string{"X-Attempt-Number", "X-Event-Key", "X-Hook-Uuid", "X-Request-Id", "X-Request-Uuid", "X-Hub-Signature*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Others,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in hex after `sha256=` in the header `X-Hub-Signature`. No time is signed.",
			KeyRule: "The header `X-Request-UUID` (`X-Request-Id` of Data Center), which stays the same across attempts. `X-Hook-UUID` " +
				"names the webhook, not the event.",
			Setup: []string{
				"Open Repository settings, Webhooks, Add webhook. Enter the URL {url}, and choose the triggers.",
				"Enter a long random secret there, and use the same one as the secret of the source. Without a secret, Bitbucket does not sign.",
			},
			Notes: []string{
				"The id is not signed: anyone who saw one request can resend it under another id. The replay guard detects that.",
				"Unconfirmed: the two further attempts after a 5xx or a timeout follow within minutes. After that the event is lost.",
				"Bitbucket Cloud does not send payloads over 256 kB at all.",
				"Data Center signs its connection test (diagnostics:ping) like any other event.",
			},
			Docs: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
		},
		Events: func(r *provider.Request) ([]provider.Event, error) {
			id := proof.Verbatim(cloud)
			if len(r.Header[cloud.Header]) == 0 && len(r.Header[dataCenter.Header]) > 0 {
				// The additional part distinguishes the keys of Data Center from those of Bitbucket
				// Cloud.
				id = proof.Composite(proof.Fixed("request"), dataCenter)
			}
			return proof.Facts{ID: id, Kind: event, NeedJSON: true}.Events(r)
		},
		Sample:      sampleBitbucket,
		UnsignedID:  true,
		ReplayToken: s.ReplayToken,
		Retry:       proof.RetrySigns{Number: attempt, First: 1, Token: cloud}.Of,
		Deadline:    10 * time.Second,
		RetryWindow: 10 * time.Minute,
	}), nil
}

func sampleBitbucket(eventType, id string, now time.Time) *provider.Request {
	eventType, id = cmp.Or(eventType, "repo:push"), cmp.Or(id, uuid.NewString())
	actor := proof.Object{"type": "user", "display_name": "Emma", "nickname": "emma", "account_id": "557058:5b1f"}
	body := proof.Object{
		"actor":      actor,
		"repository": proof.Object{"type": "repository", "name": "hello-world", "full_name": "acme/hello-world", "is_private": false},
	}
	at := now.UTC().Format(time.RFC3339)
	switch kind, _, _ := strings.Cut(eventType, ":"); kind {
	case "repo":
		target := proof.Object{"type": "commit", "hash": proof.CommitOf(id), "message": "Fix all the bugs\n", "date": at}
		body["push"] = proof.Object{"changes": []proof.Object{{
			"new": proof.Object{"type": "branch", "name": "main", "target": target}, "created": false, "forced": false, "closed": false,
		}}}
	case "pullrequest":
		body["pullrequest"] = proof.Object{"id": proof.NumberOf(id), "title": "Fix all the bugs", "state": "OPEN", "author": actor, "created_on": at, "updated_on": at}
	case "issue":
		body["issue"] = proof.Object{"id": proof.NumberOf(id), "title": "Found a bug", "state": "new", "created_on": at}
	}
	return proof.SampleJSON(body,
		"X-Event-Key", eventType,
		"X-Request-UUID", id,
		"X-Hook-UUID", uuid.NewString(),
		"X-Attempt-Number", "1",
		"User-Agent", "Bitbucket-Webhooks/2.0")
}
