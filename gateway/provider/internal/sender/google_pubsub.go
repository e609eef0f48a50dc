package sender

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Headers of a message without its envelope.
const (
	pubsubID           = "X-Goog-Pubsub-Message-Id"
	pubsubSubscription = "X-Goog-Pubsub-Subscription-Name"
	pubsubTime         = "X-Goog-Pubsub-Publish-Time"
)

type pubsub struct {
	token         proof.WebToken
	wrapped, bare proof.Facts
}

// GooglePubSub declares Google Cloud Pub/Sub's push subscriptions, with and without Pub/Sub's
// envelope. Source: cloud.google.com/pubsub/docs/push, /authenticate-push-subscriptions,
// /payload-unwrapping; google-auth-library.
func GooglePubSub(o provider.Options) (*provider.Provider, error) {
	if o.Claims["email"] == "" {
		return nil, &provider.OptionError{
			Field:   "claims",
			Allowed: "must contain email, the service account of the subscription: without it, any Google Cloud customer could push to your URL with your audience",
		}
	}
	kind, fallback, err := proof.KindOf(o)
	if err != nil {
		return nil, err
	}
	if o.Type == (provider.Field{}) {
		kind, fallback = proof.At("/message/attributes/eventType"), proof.Fixed("message")
	}
	id, subscription := proof.InHeader(pubsubID), proof.InHeader(pubsubSubscription)
	claims := maps.Clone(o.Claims)
	claims["email_verified"] = "true"
	p := &pubsub{
		token: proof.WebToken{
			Header:      proof.Authorization,
			Prefix:      proof.Bearer,
			Algorithms:  []string{"RS256"},
			Keys:        proof.KeysByURL(proof.NewFetcher(o, "www.googleapis.com"), "https://www.googleapis.com/oauth2/v3/certs"),
			Issuers:     []string{"https://accounts.google.com", "accounts.google.com"},
			Audience:    o.Audience,
			URLAudience: true,
			Claims:      claims,
			Leeway:      proof.StandardLeeway,
			Single:      []string{pubsubID, pubsubSubscription, pubsubTime},
		},
		wrapped: proof.Facts{
			ID:   proof.Composite(proof.At("/subscription").IfAny(), proof.At("/message/messageId")),
			Kind: kind, Fallback: fallback,
			Occurred: proof.Clock{Pointer: "/message/publishTime"},
		},
		bare: proof.Facts{ID: proof.Composite(subscription.IfAny(), id), Kind: kind, Fallback: proof.Fixed("message")},
	}
	return &provider.Provider{
		Name:           "google-pubsub",
		Title:          "Google Cloud Pub/Sub",
		HeaderFamilies: []string{"X-Goog-Pubsub-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "A JSON Web Token of Google (RS256) in the header Authorization, with the email of your service account. It is " +
				"issued for the URL of the endpoint, or for the configured audience. The token does not protect the body.",
			KeyRule: "The subscription and messageId.",
			Setup: []string{
				"Create a service account, and allow the Pub/Sub service agent to create tokens for it (roles/iam.serviceAccountTokenCreator).",
				"Run gcloud pubsub subscriptions create ... --push-endpoint={url} --push-auth-service-account=EMAIL. Add " +
					"--push-auth-token-audience if the audience is not the URL.",
				"Set claims.email of the source to that EMAIL. No secret is needed; a private key (PEM) as the secret is for hooklatch send and tests.",
			},
			Notes: []string{
				"A message that is published twice has two ids.",
				"Without the envelope (--push-no-wrapper), also set --push-no-wrapper-write-metadata: the id is then in a header.",
				"The type is the message's attribute eventType, or message if there is none. Set type to use another attribute.",
				"Ordering needs ordering keys and a subscription with message ordering.",
				"Unconfirmed: Pub/Sub retries until the retention of the subscription ends (7 days by default, at most 31), and seek " +
					"works within this time.",
			},
			Backfill: "gcloud pubsub subscriptions seek goes back to a time or a snapshot.",
			Docs:     "https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
		},
		Verify:        p.verify,
		Challenge:     proof.ChallengeOf(p.token.Header, p.token.Prefix),
		Events:        p.events,
		SignsURL:      p.token.Audience == "",
		CheckSecret:   p.token.Check,
		Sign:          p.token.Sign,
		Sample:        samplePubSub,
		Keyless:       true,
		SecretHeaders: []string{proof.Authorization},
		Retry:         proof.RetrySigns{Number: proof.At("/deliveryAttempt"), First: 1}.Of,
		MaxBody:       14 << 20, // a message may have 10 MB, encoded in base64 here
		Deadline:      10 * time.Second,
		RetryWindow:   7 * proof.Day,
	}, nil
}

// verify verifies a token with the source's own keys, or with Google's published keys if the
// token names none of the source's.
func (p *pubsub) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	verified, err := p.token.ByOwnKeys(ctx, r, secrets, now)
	if !proof.IsUnknownKey(err) {
		return verified, err
	}
	return p.token.Verify(ctx, r, nil, now)
}

func (p *pubsub) events(r *provider.Request) ([]provider.Event, error) {
	if r.Header.Get(pubsubID) == "" {
		return p.wrapped.Events(r)
	}
	events, err := p.bare.Events(r)
	if err != nil {
		return nil, err
	}
	events[0].OccurredAt = proof.HeaderTime(r, proof.InHeader(pubsubTime))
	return events, nil
}

func samplePubSub(eventType, id string, now time.Time) *provider.Request {
	text, err := json.Marshal(proof.Object{"kind": "storage#object", "name": "hello.txt", "bucket": "hooklatch-demo"})
	if err != nil {
		text = nil
	}
	id, at := cmp.Or(id, proof.FreshID("")), now.UTC().Format(time.RFC3339Nano)
	return proof.SampleJSON(proof.Object{
		"message": proof.Object{
			"attributes": proof.Object{"eventType": cmp.Or(eventType, "OBJECT_FINALIZE"), "bucketId": "hooklatch-demo", "payloadFormat": "JSON_API_V1"},
			"data":       base64.StdEncoding.EncodeToString(text), "messageId": id, "message_id": id, "publishTime": at, "publish_time": at,
		},
		"subscription": "projects/hooklatch-demo/subscriptions/push",
	})
}
