package sender

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type gitlab struct {
	signing *proof.Scheme
	token   *proof.StaticToken
}

var (
	gitlabKey   = proof.InHeader("Idempotency-Key")
	gitlabEvent = proof.InHeader("X-Gitlab-Event")
)

// GitLab declares GitLab's webhooks. With a signing token, GitLab signs as Standard Webhooks
// specifies. With the older secret token, GitLab signs nothing and sends the token in a header.
// Source: docs.gitlab.com/user/project/integrations/webhooks; gitlab-org/gitlab merge requests
// 160952 (Idempotency-Key) and 230944 (signing token).
func GitLab(o provider.Options) (*provider.Provider, error) {
	g := &gitlab{
		signing: proof.StandardScheme(proof.StandardSecret(), proof.Tolerance(o, proof.StandardTolerance), proof.WebhookNames()),
		token:   &proof.StaticToken{Header: "X-Gitlab-Token"},
	}
	g.signing.Single = []string{gitlabKey.Header, gitlabEvent.Header}
	g.token.Single = append([]string{proof.WebhookNames().ID}, g.signing.Single...)
	return &provider.Provider{
		Name:           "gitlab",
		Title:          "GitLab",
		HeaderFamilies: []string{"Idempotency-Key", "Webhook-*", "X-Gitlab-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Others,
				Resend:      provider.Nobody,
			},
			Signing: "With a signing token (a secret that begins with `whsec_`): HMAC-SHA256 over `id.time.body`, in base64, as `v1` in " +
				"`webhook-signature`. With a secret token, nothing is signed: the header `X-Gitlab-Token` carries the secret itself. The " +
				"secret is never stored or logged.",
			KeyRule: "The header `Idempotency-Key`, or `webhook-id`, which has the same value and is signed. For GitLab before 17.4, " +
				"which sends neither: a hash of `X-Gitlab-Event` and the body. `X-Gitlab-Webhook-UUID` identifies the webhook, and recursive " +
				"webhooks share `X-Gitlab-Event-UUID`.",
			Setup: []string{
				"Open Settings, Webhooks, Add new webhook in the project or group. Enter the URL {url}, and choose the triggers.",
				"If GitLab offers a signing token (`whsec_...`), generate one; otherwise enter a long random secret token. The token is " +
					"the secret of the source. While you change from one to the other, set both.",
			},
			Notes: []string{
				"With a secret token, anyone who sees one request can forge any other: prefer the signing token. A source whose secrets are all " +
					"signing tokens accepts only signed requests.",
				"GitLab does not retry. Resend, in the log of the webhook, keeps the key. Unconfirmed: Resend is available for 7 days.",
				"GitLab waits 10 s. Unconfirmed: GitLab switches off a webhook temporarily after 4 consecutive failures, and permanently " +
					"after 40.",
				"Payloads are up to 25 MB. GitLab does not send larger ones.",
				"Unconfirmed: self-managed GitLab has the signing token, but a feature flag may hide it.",
			},
			Backfill: "GET /projects/:id/hooks/:hook_id/events lists deliveries, and POST .../events/:id/resend resends one " +
				"(unconfirmed).",
			Docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
		},
		List:   gitlabList(),
		Verify: g.verify,
		Events: gitlabEvents,
		CheckSecret: func(s secret.Value) error {
			if gitlabSigns(s) {
				return g.signing.CheckSecret(s)
			}
			return g.token.Check(s)
		},
		Sign:          g.sign,
		Sample:        sampleGitLab,
		SecretHeaders: []string{g.token.Header},
		ReplayToken:   g.signing.ReplayToken,
		MaxBody:       25 << 20,
		Deadline:      10 * time.Second,
		ResendWindow:  7 * proof.Day,
	}, nil
}

// gitlabSigns reports whether a secret is a signing token.
func gitlabSigns(s secret.Value) bool {
	return strings.HasPrefix(s.Reveal(), proof.StandardSecret().Prefix)
}

// verify checks the signature if a signing token is configured and either the request is signed
// or no secret token is configured. Otherwise it checks the secret token. A signing token is never
// accepted as a secret token.
func (g *gitlab) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
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
	kind, verify := of[0], g.token.Verify
	if signed := len(r.Header[proof.WebhookNames().Signature]) > 0; len(of[1].secrets) > 0 && (signed || len(of[0].secrets) == 0) {
		kind, verify = of[1], g.signing.Verify
	}
	if len(kind.secrets) == 0 {
		return provider.Verified{}, proof.ErrNoSecret
	}
	verified, err := verify(ctx, r, kind.secrets, now)
	if err != nil {
		return provider.Verified{}, err
	}
	verified.SecretIndex = kind.index[verified.SecretIndex]
	return verified, nil
}

func gitlabEvents(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	signed := proof.InHeader(proof.WebhookNames().ID)
	id := proof.Hashed(gitlabEvent.IfAny(), proof.At("")) // GitLab resends the header and the body unchanged
	switch {
	case len(r.Header[proof.WebhookNames().Signature]) > 0 && len(r.Header[signed.Header]) > 0:
		id = proof.Verbatim(signed)
	case len(r.Header[gitlabKey.Header]) > 0:
		id = proof.Verbatim(gitlabKey)
	}
	kind := proof.At("/object_kind")
	if kind.Optional(d) == "" {
		kind = proof.At("/event_name") // for system hooks
	}
	events, err := proof.Facts{ID: id, Kind: kind, Fallback: gitlabEvent, Detail: proof.At("/object_attributes/action"), NeedJSON: true}.Of(d)
	if err != nil {
		return nil, err
	}
	events[0].OccurredAt = gitlabTime(proof.At("/object_attributes/updated_at").Optional(d))
	return events, nil
}

// gitlabTime reads both of GitLab's time formats.
func gitlabTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05 UTC"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 {
			return t.UTC()
		}
	}
	return time.Time{}
}

func (g *gitlab) sign(r *provider.Request, key secret.Value, now time.Time) error {
	if !gitlabSigns(key) {
		if err := g.token.Sign(r, key, now); err != nil {
			return err
		}
		r.Header.Del(proof.WebhookNames().Signature)
		return nil
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Del(g.token.Header)
	if id := r.Header.Get(gitlabKey.Header); id != "" {
		r.Header.Set(proof.WebhookNames().ID, id)
	}
	return g.signing.Sign(r, key, now)
}

func sampleGitLab(eventType, id string, now time.Time) *provider.Request {
	kind, action, _ := strings.Cut(cmp.Or(eventType, "push"), ".")
	project := proof.Object{
		"id": 15, "name": "Hello World", "path_with_namespace": "acme/hello-world", "default_branch": "main",
		"web_url": "https://gitlab.example.com/acme/hello-world",
	}
	body := proof.Object{"object_kind": kind, "project": project}
	name := strings.ToUpper(kind[:min(1, len(kind))]) + kind[min(1, len(kind)):]
	if kind == "push" || kind == "tag_push" {
		commit := proof.Object{
			"id": "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", "message": "Fix all the bugs\n", "timestamp": now.UTC().Format(time.RFC3339),
			"author": proof.Object{"name": "Ada Lovelace", "email": "ada@example.com"}, "added": []string{}, "modified": []string{"README.md"},
		}
		body["event_name"], body["ref"], body["project_id"] = kind, "refs/heads/main", 15
		body["before"], body["after"] = strings.Repeat("0", 40), commit["id"]
		body["user_username"], body["commits"], body["total_commits_count"] = "ada", []proof.Object{commit}, 1
	} else {
		body["user"] = proof.Object{"id": 1, "username": "ada", "name": "Ada Lovelace"}
		body["object_attributes"] = proof.Object{
			"id": 301, "iid": 23, "title": "Fix all the bugs", "state": "opened", "action": cmp.Or(action, "open"),
			"updated_at": now.UTC().Format(time.RFC3339),
		}
	}
	return proof.SampleJSON(body,
		gitlabEvent.Header, strings.ReplaceAll(name, "_", " ")+" Hook",
		gitlabKey.Header, cmp.Or(id, uuid.NewString()),
		"X-Gitlab-Webhook-Uuid", uuid.NewString(),
		"X-Gitlab-Event-Uuid", uuid.NewString(),
		"X-Gitlab-Instance", "https://gitlab.example.com",
		"User-Agent", "GitLab/18.6.0")
}

// gitlabList lists the last 7 days' deliveries, without times. GitLab records nothing while a
// webhook is disabled. Source: docs.gitlab.com/api/project_webhooks; gitlabhq
// lib/api/hooks/events.rb.
func gitlabList() *provider.List {
	return &provider.List{
		Base:     "https://gitlab.com/api/v4",
		Endpoint: `(?:projects|groups)/[^/\s]+/hooks/[0-9]+`, Example: "projects/ID/hooks/ID",
		Rights:     "the scope `api` and the role Maintainer.",
		Credential: "PRIVATE-TOKEN: {token}",
		Rate:       2, BackDays: 7,
		Path: "/{endpoint}/events?per_page=20&page={cursor}",
		Next: provider.Next{Numbers: true, PerPage: 20}, Order: provider.NewestFirst,
		Ref: "/id", State: "/response_status", Delivered: []string{"2*"},
		Body: "/request_data", RequestHeaders: "/request_headers", Mark: "[REDACTED]", Altered: "redacted",
		Check: &provider.EndpointFacts{
			Path: "/{endpoint}", URL: "url", On: "alert_status", OnIs: []string{"executable"}, Until: "disabled_until",
			WhoTurnsOff: "GitLab switches a webhook off after 4 failures in a row, for longer each time, and permanently after 40. It records no events meanwhile.",
		},
	}
}
