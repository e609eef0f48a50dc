package sender

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type auth0 struct{ token proof.StaticToken }

// Auth0 declares event streams, which send one CloudEvent per request, and log streams, which send
// lists. A header with a fixed value authenticates both. Source: github.com/auth0/docs-v2,
// customize/events and customize/log-streams.
func Auth0(o provider.Options) (*provider.Provider, error) {
	a := &auth0{token: proof.StaticToken{Header: proof.Authorization, Prefix: proof.Bearer}}
	if o.Header != "" {
		if err := proof.ValidateHeader("header", o.Header); err != nil {
			return nil, err
		}
		if name := http.CanonicalHeaderKey(o.Header); name != proof.Authorization {
			a.token.Header, a.token.Prefix = name, ""
		}
	}
	return &provider.Provider{
		Name:  "auth0",
		Title: "Auth0",
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "Nothing is signed. The header Authorization carries the secret itself, as a bearer token, as basic authentication " +
				"or without a scheme. The header that the option header names carries only the secret. The secret is never stored or logged.",
			KeyRule: "Event streams: `/id` of the CloudEvent (evt_...). Log streams: `log_id` of each entry.",
			Setup: []string{
				"For events, open Dashboard, Event Streams, Create, and choose the type Webhook. Enter the endpoint {url} and the " +
					"authorization Bearer with a long random token, or basic with user:password. The token, or user:password, is the " +
					"secret of the source. For the method custom header, set `header` of the source to the name of the header; its value is " +
					"the secret.",
				"For logs, open Dashboard, Monitoring, Streams, Create, Custom Webhook. Enter the payload URL {url}, the content format " +
					"JSON Array, and the same authorization token.",
			},
			Notes: []string{
				"Anyone who sees one request can forge any other: use TLS on the whole path.",
				"Auth0 retries after 1, 2 and 4 s, and then gives up. It never retries after a 4xx, and switches off streams that fail " +
					"repeatedly.",
				"Events arrive in any order.",
				"Choose JSON Array: JSON Lines is accepted only with one line per request.",
				"Unconfirmed: failed events can be resent for 7 days. The fields of log streams are also unconfirmed.",
			},
			Backfill: "GET /api/v2/event-streams/{id}/deliveries lists failed events, and POST .../redeliver resends them. GET " +
				"/api/v2/logs returns logs.",
			Docs: "https://auth0.com/docs/customize/events",
		},
		List:          auth0List(),
		Verify:        a.verify,
		Challenge:     proof.ChallengeOf(a.token.Header, a.token.Prefix),
		Events:        auth0Events,
		CheckSecret:   a.token.Check,
		Sign:          a.token.Sign,
		Sample:        sampleAuth0,
		SecretHeaders: []string{a.token.Header},
		NormalSecret:  a.normal,
		RetryWindow:   7 * time.Second,
		ResendWindow:  7 * proof.Day,
	}, nil
}

func (a *auth0) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	if a.token.Header != proof.Authorization {
		return a.token.Verify(ctx, r, secrets, now)
	}
	token, err := proof.TheHeader(r.Header, proof.Authorization, provider.ReasonMissingToken)
	if err != nil {
		return provider.Verified{}, err
	}
	if token, err = auth0Token(token); err != nil {
		return provider.Verified{}, err
	}
	index, err := a.token.Match(secrets, token)
	return provider.Verified{SecretIndex: index}, err
}

// auth0Token returns the secret in a header's value. Streams send it after Bearer, in base64 after
// Basic, or without a scheme.
func auth0Token(value string) (string, error) {
	if text, ok := proof.CutPrefix(value, proof.Basic); ok {
		decoded, err := proof.Base64.Decode(text)
		if err != nil {
			return "", &provider.VerifyError{Reason: provider.ReasonMalformedToken, Detail: "want Basic <base64>"}
		}
		value = string(decoded)
	}
	if text, ok := proof.CutPrefix(value, proof.Bearer); ok {
		value = text
	}
	return value, nil
}

func (a *auth0) normal(value string) string {
	token, err := auth0Token(value)
	if err != nil || a.token.Header != proof.Authorization {
		return value
	}
	return a.token.Prefix + token
}

func auth0Events(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	root, err := d.JSON()
	if err != nil {
		return nil, err
	}
	log := proof.Facts{ID: proof.Verbatim(proof.At("/log_id")), Kind: proof.At("/data/type"), Fallback: proof.Fixed("log"), Occurred: proof.Clock{Pointer: "/data/date"}}
	switch {
	case root.IsArray():
		return proof.Each("", log.Of)(d)
	case proof.Lookup(root, "/logs").IsArray():
		return proof.Each("/logs", log.Of)(d)
	case proof.Lookup(root, "/log_id").Exists():
		return log.Of(d)
	}
	return proof.Facts{
		ID: proof.Verbatim(proof.At("/id")), Kind: proof.At("/type"), Version: proof.At("/specversion"), Occurred: proof.Clock{Pointer: "/time"},
	}.Of(d)
}

func sampleAuth0(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "user.created")
	at := now.UTC().Format(time.RFC3339Nano)
	if !strings.Contains(eventType, ".") { // the type of a log entry is a code without a dot
		return proof.SampleJSON([]proof.Object{{
			"log_id": cmp.Or(id, proof.FreshID("")), "data": proof.Object{
				"date": at, "type": eventType, "client_id": "8k0m1z", "client_name": "demo", "ip": "192.0.2.7", "user_id": "auth0|507f1f77",
			},
		}})
	}
	return proof.SampleJSON(proof.Object{
		"id": cmp.Or(id, proof.FreshID("evt_")), "source": "urn:auth0:demo.eu.auth0.com", "specversion": "1.0", "type": eventType, "time": at,
		"a0tenant": "demo", "a0stream": "est_1234", "data": proof.Object{"object": proof.Object{
			"user_id": "auth0|507f1f77", "email": "ada@example.com", "name": "Ada Lovelace", "created_at": at, "updated_at": at,
		}},
	})
}

// auth0List declares no list of events: the API is only used to check our event stream. Source:
// auth0/docs-v2, customize/events.
func auth0List() *provider.List {
	return &provider.List{
		Endpoint: `est_[A-Za-z0-9]+`, Example: "est_56rXpyU2RP9DhjY4nbjAJg",
		Rights:     "`read:event_streams` of the Management API. `base_url` is `https://YOUR-TENANT.auth0.com`.",
		Credential: "Authorization: Bearer {token}", Rate: 1,
		Check: &provider.EndpointFacts{
			Path: "/api/v2/event-streams/{endpoint}", URL: "destination.configuration.webhook_endpoint", On: "status", OnIs: []string{"enabled"}, Types: "subscriptions.#.event_type",
			WhoTurnsOff: "Auth0 switches a stream off after repeated failures; a user can also switch it off.",
		},
	}
}
