package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// newBitbucket knows Bitbucket Cloud and Bitbucket Data Center, which signs
// alike and calls its id by another name.
// Source: support.atlassian.com/bitbucket-cloud, "Manage webhooks",
// "Troubleshoot webhooks"; confluence.atlassian.com/bitbucketserver, "Event
// payload".
func newBitbucket(Options) (*Provider, error) {
	cloud, dataCenter, event := inHeader("X-Request-UUID"), inHeader("X-Request-Id"), inHeader("X-Event-Key")
	attempt := inHeader("X-Attempt-Number")
	s := &scheme{
		headers:  []headerNames{{signature: "X-Hub-Signature"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   []string{cloud.Header, dataCenter.Header, event.Header},
	}
	return &Provider{
		Name:  "bitbucket",
		Title: "Bitbucket",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in hex behind `sha256=` in the header `X-Hub-Signature`. No time is signed.",
			KeyRule: "The header `X-Request-UUID` (`X-Request-Id` of Data Center), which stays the same over the attempts. " +
				"Not `X-Hook-UUID`, which names the webhook.",
			Setup: []string{
				"Repository settings, Webhooks, Add webhook: URL {url}, and the triggers.",
				"Enter a long random secret there, and the same as the secret of the source. Without a secret Bitbucket does not sign.",
			},
			Notes: []string{
				"The id is not signed: whoever saw one request can send it again under another id. The replay guard sees that.",
				"Unconfirmed: the two further attempts after a 5xx or a time-out come within minutes. After that the event is lost.",
				"Bitbucket Cloud does not send payloads over 256 kB at all.",
				"Data Center signs its test of the connection (diagnostics:ping) like any other event.",
			},
			Docs: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
		},
		Verify: s.verify,
		Events: func(r *Request) ([]Event, error) {
			id := verbatim(cloud)
			if len(r.Header[cloud.Header]) == 0 && len(r.Header[dataCenter.Header]) > 0 {
				// The extra part keeps the two kinds of key apart.
				id = composite(fixed("request"), dataCenter)
			}
			return facts{id: id, kind: event, needJSON: true}.events(r)
		},
		Methods:     []string{http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleBitbucket,
		UnsignedID:  true,
		ReplayToken: s.replayToken,
		Retry:       retrySigns{number: attempt, first: 1, token: cloud}.of,
		Deadline:    10 * time.Second,
		RetryWindow: 10 * time.Minute,
	}, nil
}

func sampleBitbucket(eventType, id string, now time.Time) *Request {
	eventType, id = cmp.Or(eventType, "repo:push"), cmp.Or(id, uuid.NewString())
	actor := object{"type": "user", "display_name": "Emma", "nickname": "emma", "account_id": "557058:5b1f"}
	body := object{
		"actor":      actor,
		"repository": object{"type": "repository", "name": "hello-world", "full_name": "acme/hello-world", "is_private": false},
	}
	at := now.UTC().Format(time.RFC3339)
	switch kind, _, _ := strings.Cut(eventType, ":"); kind {
	case "repo":
		target := object{"type": "commit", "hash": commitOf(id), "message": "Fix all the bugs\n", "date": at}
		body["push"] = object{"changes": []object{{
			"new": object{"type": "branch", "name": "main", "target": target}, "created": false, "forced": false, "closed": false,
		}}}
	case "pullrequest":
		body["pullrequest"] = object{"id": numberOf(id), "title": "Fix all the bugs", "state": "OPEN", "author": actor, "created_on": at, "updated_on": at}
	case "issue":
		body["issue"] = object{"id": numberOf(id), "title": "Found a bug", "state": "new", "created_on": at}
	}
	return sampleJSON(body,
		"X-Event-Key", eventType,
		"X-Request-UUID", id,
		"X-Hook-UUID", uuid.NewString(),
		"X-Attempt-Number", "1",
		"User-Agent", "Bitbucket-Webhooks/2.0")
}
