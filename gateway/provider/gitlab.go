package provider

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// gitlab knows GitLab's webhooks: with a signing token, which works as Standard
// Webhooks do, and with the older secret token, which only stands in a header.
// Source: docs.gitlab.com/user/project/integrations/webhooks; gitlab-org/gitlab
// merge requests 160952 (Idempotency-Key) and 230944 (signing token).
type gitlab struct {
	signing *scheme
	token   *staticToken
}

var (
	gitlabKey   = inHeader("Idempotency-Key")
	gitlabEvent = inHeader("X-Gitlab-Event")
)

func newGitLab(o Options) (*Provider, error) {
	g := &gitlab{
		signing: standardScheme(standardSecret(), tolerance(o, standardTolerance), webhookNames()),
		token:   &staticToken{header: "X-Gitlab-Token"},
	}
	g.signing.single = []string{gitlabKey.Header, gitlabEvent.Header}
	g.token.single = append([]string{webhookNames().id}, g.signing.single...)
	return &Provider{
		Name:  "gitlab",
		Title: "GitLab",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "With a signing token (a secret that begins with `whsec_`): HMAC-SHA256 over `id.time.body`, in base64, as `v1` of " +
				"`webhook-signature`. With a secret token: nothing is signed, the header `X-Gitlab-Token` carries the secret itself, which is " +
				"never stored or logged.",
			KeyRule: "The header `Idempotency-Key`, or `webhook-id`, which is the same and signed. GitLab before 17.4 has neither: a hash of " +
				"`X-Gitlab-Event` and of the body as JSON. Not `X-Gitlab-Webhook-UUID`, which names the webhook, and not " +
				"`X-Gitlab-Event-UUID`, which recursive webhooks share.",
			Setup: []string{
				"Settings of the project or group, Webhooks, Add new webhook: URL {url}, and the triggers.",
				"Generate a signing token (`whsec_...`) where GitLab offers it, else enter a long random secret token. It is the secret of the " +
					"source; while you move from one to the other, set both.",
			},
			Notes: []string{
				"With a secret token whoever sees one request can make any other: prefer the signing token. A source whose secrets are all " +
					"signing tokens takes no other request.",
				"GitLab does not try again by itself. Resend in the log of the webhook keeps the key. Unconfirmed: for 7 days.",
				"GitLab waits 10 s. Unconfirmed: 4 failures in a row switch a webhook off for a while, 40 for good.",
				"Unconfirmed: the signing token on self-managed GitLab, where a feature flag may hide it.",
			},
			Backfill: "GET /projects/:id/hooks/:hook_id/events lists deliveries, POST .../events/:id/resend sends one again (unconfirmed).",
			Docs:     "https://docs.gitlab.com/user/project/integrations/webhooks/",
		},
		Verify:  g.verify,
		Events:  gitlabEvents,
		Methods: []string{http.MethodPost},
		CheckSecret: func(s secret.Value) error {
			if gitlabSigns(s) {
				return g.signing.checkSecret(s)
			}
			return g.token.check(s)
		},
		Sign:          g.sign,
		Sample:        sampleGitLab,
		SecretHeaders: []string{g.token.header},
		ReplayToken:   g.signing.replayToken,
		Deadline:      10 * time.Second,
		ResendWindow:  7 * day,
	}, nil
}

// gitlabSigns tells a signing token from a secret token.
func gitlabSigns(s secret.Value) bool { return strings.HasPrefix(s.Reveal(), standardSecret().prefix) }

// verify proves a signature where there is one and a signing token to it, and
// else the secret token. A signing token is never taken as a secret token.
func (g *gitlab) verify(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	var of [2]struct { // secret tokens, signing tokens
		secrets []secret.Value
		index   []int
	}
	for i, s := range secrets {
		kind := &of[0]
		switch {
		case s.IsZero():
			continue
		case gitlabSigns(s):
			kind = &of[1]
		}
		kind.secrets, kind.index = append(kind.secrets, s), append(kind.index, i)
	}
	kind, verify := of[0], g.token.verify
	if signed := len(r.Header[webhookNames().signature]) > 0; len(of[1].secrets) > 0 && (signed || len(of[0].secrets) == 0) {
		kind, verify = of[1], g.signing.verify
	}
	if len(kind.secrets) == 0 {
		return Verified{}, errNoSecret
	}
	verified, err := verify(ctx, r, kind.secrets, now)
	if err != nil {
		return Verified{}, err
	}
	verified.SecretIndex = kind.index[verified.SecretIndex]
	return verified, nil
}

func gitlabEvents(r *Request) ([]Event, error) {
	d := &document{r: r}
	signed := inHeader(webhookNames().id)
	id := hashed(gitlabEvent, at("")) // resent as it was
	switch {
	case len(r.Header[webhookNames().signature]) > 0 && len(r.Header[signed.Header]) > 0:
		id = verbatim(signed)
	case len(r.Header[gitlabKey.Header]) > 0:
		id = verbatim(gitlabKey)
	}
	kind := at("/object_kind")
	if kind.optional(d) == "" {
		kind = at("/event_name") // of system hooks
	}
	events, err := facts{id: id, kind: kind, fallback: gitlabEvent, detail: at("/object_attributes/action"), needJSON: true}.of(d)
	if err != nil {
		return nil, err
	}
	events[0].OccurredAt = gitlabTime(at("/object_attributes/updated_at").optional(d))
	return events, nil
}

// gitlabTime reads both ways in which GitLab writes a time.
func gitlabTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05 UTC"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 {
			return t.UTC()
		}
	}
	return time.Time{}
}

func (g *gitlab) sign(r *Request, key secret.Value, now time.Time) error {
	if !gitlabSigns(key) {
		if err := g.token.sign(r, key, now); err != nil {
			return err
		}
		r.Header.Del(webhookNames().signature)
		return nil
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Del(g.token.header)
	if id := r.Header.Get(gitlabKey.Header); id != "" {
		r.Header.Set(webhookNames().id, id)
	}
	return g.signing.sign(r, key, now)
}

func sampleGitLab(eventType, id string, now time.Time) *Request {
	kind, action, _ := strings.Cut(cmp.Or(eventType, "push"), ".")
	project := object{
		"id": 15, "name": "Hello World", "path_with_namespace": "acme/hello-world", "default_branch": "main",
		"web_url": "https://gitlab.example.com/acme/hello-world",
	}
	body := object{"object_kind": kind, "project": project}
	name := strings.ToUpper(kind[:min(1, len(kind))]) + kind[min(1, len(kind)):]
	if kind == "push" || kind == "tag_push" {
		commit := object{
			"id": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "message": "Fix all the bugs\n", "timestamp": now.UTC().Format(time.RFC3339),
			"author": object{"name": "Ada Lovelace", "email": "ada@example.com"}, "added": []string{}, "modified": []string{"README.md"},
		}
		body["event_name"], body["ref"], body["project_id"] = kind, "refs/heads/main", 15
		body["before"], body["after"] = strings.Repeat("0", 40), commit["id"]
		body["user_username"], body["commits"], body["total_commits_count"] = "ada", []object{commit}, 1
	} else {
		body["user"] = object{"id": 1, "username": "ada", "name": "Ada Lovelace"}
		body["object_attributes"] = object{
			"id": 301, "iid": 23, "title": "Fix all the bugs", "state": "opened", "action": cmp.Or(action, "open"),
			"updated_at": now.UTC().Format(time.RFC3339),
		}
	}
	return sampleJSON(body,
		gitlabEvent.Header, strings.ReplaceAll(name, "_", " ")+" Hook",
		gitlabKey.Header, cmp.Or(id, uuid.NewString()),
		"X-Gitlab-Webhook-Uuid", uuid.NewString(),
		"X-Gitlab-Event-Uuid", uuid.NewString(),
		"X-Gitlab-Instance", "https://gitlab.example.com",
		"User-Agent", "GitLab/18.6.0")
}
