package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// GitHub declares GitHub's webhooks, with JSON and with form bodies.
// Source: docs.github.com, "Validating webhook deliveries".
func GitHub(provider.Options) (*provider.Provider, error) {
	delivery, event := proof.InHeader("X-GitHub-Delivery"), proof.InHeader("X-GitHub-Event")
	s := proof.SignedBody("X-Hub-Signature-256", "sha256=", proof.Hex)
	s.Single = []string{delivery.Header, event.Header, "Content-Type"}
	f := proof.Facts{
		ID:       proof.Verbatim(delivery),
		Kind:     event,
		Detail:   proof.At("/action"),
		Payload:  "payload",
		NeedJSON: true,
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "github",
		Title:          "GitHub",
		HeaderFamilies: []string{"X-Github-*", "X-Hub-Signature*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Others,
			},
			Signing: "HMAC-SHA256 over the body, in hex after `sha256=`, in `X-Hub-Signature-256`. The SHA-1 signature is ignored.",
			KeyRule: "The header `X-GitHub-Delivery`, which stays the same when a user redelivers the event. It is not signed.",
			Setup: []string{
				"Open Repository, organization or App > Settings > Webhooks > Add webhook, and enter the payload URL {url}.",
				"Choose the content type `application/json` (a form is also accepted), and enter a secret that you choose. GitHub never " +
					"shows it again.",
			},
			Notes: []string{
				"GitHub does not retry: you can redeliver a failed delivery for 3 days.",
				"A repository webhook, an organization webhook and an App send the same event under three ids: use three sources.",
				"Payloads are up to 25 MB. A form is up to three times as long: forms of up to 75 MiB are accepted.",
			},
			Backfill: "`GET /repos/{owner}/{repo}/hooks/{id}/deliveries` lists deliveries, and `POST .../{delivery}/attempts` resends " +
				"one.",
			Docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
		},
		List:         githubList(),
		Events:       f.Events,
		Sample:       sampleGitHub,
		UnsignedID:   true,
		ReplayToken:  s.ReplayToken,
		MaxBody:      25 << 20,
		MaxForm:      75 << 20,
		Deadline:     10 * time.Second,
		ResendWindow: 3 * proof.Day,
	}), nil
}

func sampleGitHub(eventType, id string, now time.Time) *provider.Request {
	event, action, _ := strings.Cut(cmp.Or(eventType, "push"), ".")
	id = cmp.Or(id, uuid.NewString())
	sender := proof.Object{"login": "octocat", "id": 583231, "type": "User"}
	body := proof.Object{
		"repository": proof.Object{
			"id": 1296269, "name": "hello-world", "full_name": "octocat/hello-world", "private": false,
			"owner": sender, "html_url": "https://github.com/octocat/hello-world", "default_branch": "main",
		},
		"sender":       sender,
		"installation": proof.Object{"id": proof.NumberOf(id)},
	}
	if action != "" {
		body["action"] = action
	}
	switch event {
	case "push":
		commit := proof.Object{
			"id": proof.CommitOf(id), "message": "Fix all the bugs", "timestamp": now.UTC().Format(time.RFC3339),
			"author": proof.Object{"name": "Monalisa Octocat", "email": "octocat@example.com"}, "modified": []string{"README.md"},
		}
		body["ref"], body["before"], body["after"] = "refs/heads/main", strings.Repeat("0", 40), commit["id"]
		body["pusher"] = proof.Object{"name": "octocat", "email": "octocat@example.com"}
		body["commits"], body["head_commit"] = []proof.Object{commit}, commit
	case "issues":
		body["issue"] = proof.Object{
			"id": 1, "number": 1347, "title": "Found a bug", "state": "open", "user": sender,
			"html_url": "https://github.com/octocat/hello-world/issues/1347", "created_at": now.UTC().Format(time.RFC3339),
		}
	case "ping":
		body["zen"], body["hook_id"] = "Design for failure.", 109948940
	}
	return proof.SampleJSON(body,
		"X-GitHub-Event", event,
		"X-GitHub-Delivery", id,
		"X-GitHub-Hook-ID", "109948940",
		"User-Agent", "GitHub-Hookshot/hooklatch")
}

// githubList lists every attempt of the last 3 days. GitHub never retries automatically. Source:
// docs.github.com, "REST API endpoints for repository webhooks".
func githubList() *provider.List {
	return &provider.List{
		Base:     "https://api.github.com",
		Endpoint: `repos/[^/\s]+/[^/\s]+/hooks/[0-9]+|orgs/[^/\s]+/hooks/[0-9]+|app`, Example: "repos/OWNER/REPO/hooks/ID, orgs/ORG/hooks/ID or app",
		Aliases:    map[string]string{"app": "app/hook"},
		Rights:     "Webhooks: read and write, on the repository or organization; read is enough with `via: pull`. A classic token has the scope `write:repo_hook` or `admin:org_hook`. With `endpoint: app`, the token is the private key of the App, and `app` is its client id.",
		Scopes:     "X-OAuth-Scopes", // for classic tokens; docs.github.com, "Scopes for OAuth apps"
		Credential: "Authorization: Bearer {token}",
		Headers:    map[string]string{"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
		Rate:       2, BackDays: 3,
		Path: "/{endpoint}/deliveries?per_page=100&cursor={cursor}",
		Next: provider.Next{Link: true}, Order: provider.NewestFirst,
		Ref: "/id", ID: "/guid", Type: []string{"/event", "/action"}, Time: "/delivered_at",
		State: "/status", Delivered: []string{"OK"},
		Fetch: "/{endpoint}/deliveries/{ref}", Body: "/request/payload", RequestHeaders: "/request/headers",
		Redeliver: "/{endpoint}/deliveries/{ref}/attempts",
		Check: &provider.EndpointFacts{
			Path: "/{endpoint}", Aliases: map[string]string{"app": "/app/hook/config"},
			URL: "config.url", On: "active", OnIs: []string{"true"}, Why: "last_response.message",
			WhoTurnsOff: "A user switched the webhook off: see Active in its settings.",
		},
	}
}
