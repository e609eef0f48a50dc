package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// newGitHub knows GitHub's webhooks, with JSON and with form bodies.
// Source: docs.github.com, "Validating webhook deliveries".
func newGitHub(Options) (*Provider, error) {
	delivery, event := inHeader("X-GitHub-Delivery"), inHeader("X-GitHub-Event")
	s := &scheme{
		headers:  []headerNames{{signature: "X-Hub-Signature-256"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   []string{delivery.Header, event.Header, "Content-Type"},
	}
	f := facts{
		id:       verbatim(delivery),
		kind:     event,
		detail:   at("/action"),
		payload:  "payload",
		needJSON: true,
	}
	return &Provider{
		Name:  "github",
		Title: "GitHub",
		About: About{
			Confirmed: Secondary, // that redelivery is possible for 3 days
			Signing:   "HMAC-SHA256 over the body, in hex behind `sha256=`, in `X-Hub-Signature-256`. The SHA-1 signature is passed over.",
			KeyRule:   "The header `X-GitHub-Delivery`, which stays the same when a person redelivers. It is not signed.",
			Setup: []string{
				"Repository, organization or App > Settings > Webhooks > Add webhook: payload URL {url}.",
				"Content type `application/json` (a form is taken too), and a secret of your own, which GitHub shows never again.",
			},
			Notes: []string{
				"GitHub does not retry: what fails once waits for you to redeliver it, for 3 days.",
				"A hook of the repository, one of the organization and an App send the same event under three ids: three sources.",
				"Bodies have up to 25 MB.",
			},
			Backfill: "`GET /repos/{owner}/{repo}/hooks/{id}/deliveries` lists deliveries, `POST .../{delivery}/attempts` sends one again.",
			Docs:     "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
		},
		Verify:       s.verify,
		Events:       f.events,
		Methods:      []string{http.MethodPost},
		CheckSecret:  s.secret.check,
		Sign:         s.sign,
		Sample:       sampleGitHub,
		UnsignedID:   true,
		ReplayToken:  s.replayToken,
		MaxBody:      25 << 20,
		Deadline:     10 * time.Second,
		ResendWindow: 3 * day,
	}, nil
}

func sampleGitHub(eventType, id string, now time.Time) *Request {
	event, action, _ := strings.Cut(cmp.Or(eventType, "push"), ".")
	id = cmp.Or(id, uuid.NewString())
	sender := object{"login": "octocat", "id": 583231, "type": "User"}
	body := object{
		"repository": object{
			"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "private": false,
			"owner": sender, "html_url": "https://github.com/octocat/hello-world", "default_branch": "main",
		},
		"sender":       sender,
		"installation": object{"id": numberOf(id)},
	}
	if action != "" {
		body["action"] = action
	}
	switch event {
	case "push":
		commit := object{
			"id": commitOf(id), "message": "Fix all the bugs", "timestamp": now.UTC().Format(time.RFC3339),
			"author": object{"name": "Monalisa Octocat", "email": "octocat@example.com"}, "modified": []string{"README.md"},
		}
		body["ref"], body["before"], body["after"] = "refs/heads/main", strings.Repeat("0", 40), commit["id"]
		body["pusher"] = object{"name": "octocat", "email": "octocat@example.com"}
		body["commits"], body["head_commit"] = []object{commit}, commit
	case "issues":
		body["issue"] = object{
			"id": 1, "number": 1347, "title": "Found a bug", "state": "open", "user": sender,
			"html_url": "https://github.com/octocat/hello-world/issues/1347", "created_at": now.UTC().Format(time.RFC3339),
		}
	case "ping":
		body["zen"], body["hook_id"] = "Design for failure.", 109948940
	}
	return sampleJSON(body,
		"X-GitHub-Event", event,
		"X-GitHub-Delivery", id,
		"X-GitHub-Hook-ID", "109948940",
		"User-Agent", "GitHub-Hookshot/hooklatch")
}
