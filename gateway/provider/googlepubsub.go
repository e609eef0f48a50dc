package provider

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Headers of a message that comes without its envelope.
const (
	pubsubID           = "X-Goog-Pubsub-Message-Id"
	pubsubSubscription = "X-Goog-Pubsub-Subscription-Name"
	pubsubTime         = "X-Goog-Pubsub-Publish-Time"
)

// pubsub knows push subscriptions of Google Cloud Pub/Sub, with the envelope
// of Pub/Sub and without.
// Source: cloud.google.com/pubsub/docs/push, /authenticate-push-subscriptions,
// /payload-unwrapping; google-auth-library.
type pubsub struct {
	token         webToken
	wrapped, bare facts
}

func newGooglePubSub(o Options) (*Provider, error) {
	if o.Claims["email"] == "" {
		return nil, &OptionError{
			Field:   "claims",
			Allowed: "must have email, the service account of the subscription: anybody's subscription can push to your URL, with your audience",
		}
	}
	kind, fallback, err := kindOf(o)
	if err != nil {
		return nil, err
	}
	if o.Type == (Field{}) {
		kind, fallback = at("/message/attributes/eventType"), fixed("message")
	}
	id, subscription := inHeader(pubsubID), inHeader(pubsubSubscription)
	claims := maps.Clone(o.Claims)
	claims["email_verified"] = "true"
	p := &pubsub{
		token: webToken{
			header:      authorization,
			prefix:      bearer,
			algorithms:  []string{"RS256"},
			keys:        keysByURL(newFetcher(o, "www.googleapis.com"), "https://www.googleapis.com/oauth2/v3/certs"),
			issuers:     []string{"https://accounts.google.com", "accounts.google.com"},
			audience:    o.Audience,
			urlAudience: true,
			claims:      claims,
			leeway:      standardLeeway,
			single:      []string{pubsubID, pubsubSubscription, pubsubTime},
		},
		wrapped: facts{
			id:   composite(at("/subscription"), at("/message/messageId")),
			kind: kind, fallback: fallback,
			occurred: clock{Pointer: "/message/publishTime"},
		},
		bare: facts{id: composite(subscription, id), kind: kind, fallback: cmp.Or(fallback, fixed("message"))},
	}
	return &Provider{
		Name:  "google-pubsub",
		Title: "Google Cloud Pub/Sub",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "A JSON Web Token of Google (RS256) in the header Authorization, made for the URL of the endpoint or the configured audience, " +
				"with the e-mail of your service account. The token does not protect the body.",
			KeyRule: "The subscription and messageId.",
			Setup: []string{
				"Create a service account, and let the Pub/Sub service agent make tokens for it (roles/iam.serviceAccountTokenCreator).",
				"gcloud pubsub subscriptions create ... --push-endpoint={url} --push-auth-service-account=EMAIL, and --push-auth-token-audience if it is not the URL.",
				"Set claims.email of the source to that EMAIL. No secret is needed; a private key (PEM) as the secret is for hooklatch send and tests.",
			},
			Notes: []string{
				"What was published twice has two ids.",
				"Without envelope (--push-no-wrapper) also set --push-no-wrapper-write-metadata: the id stands in a header then.",
				"The type is the attribute eventType of the message, else message. Set type to take another attribute.",
				"Ordering needs ordering keys and a subscription with ordering.",
				"Unconfirmed: retries until the retention of the subscription ends, 7 days unless it was set to up to 31, and seek within it.",
			},
			Backfill: "gcloud pubsub subscriptions seek, to a time or a snapshot.",
			Docs:     "https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
		},
		Verify:        p.verify,
		Events:        p.events,
		Methods:       []string{http.MethodPost},
		SignsURL:      p.token.audience == "",
		CheckSecret:   p.token.check,
		Sign:          p.token.sign,
		Sample:        samplePubSub,
		Keyless:       true,
		SecretHeaders: []string{authorization},
		Retry:         retrySigns{number: at("/deliveryAttempt"), first: 1}.of,
		MaxBody:       14 << 20, // messages have up to 10 MB, in base64 here
		Deadline:      10 * time.Second,
		RetryWindow:   7 * day,
	}, nil
}

// verify proves a token by keys of the source's own, where it has some, and
// else by those Google publishes.
func (p *pubsub) verify(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	verified, err := p.token.byOwnKeys(ctx, r, secrets, now)
	if !isUnknownKey(err) {
		return verified, err
	}
	return p.token.verify(ctx, r, nil, now)
}

func (p *pubsub) events(r *Request) ([]Event, error) {
	if r.Header.Get(pubsubID) == "" {
		return p.wrapped.events(r)
	}
	events, err := p.bare.events(r)
	if err != nil {
		return nil, err
	}
	events[0].OccurredAt = headerTime(r, inHeader(pubsubTime))
	return events, nil
}

func samplePubSub(eventType, id string, now time.Time) *Request {
	text, err := json.Marshal(object{"kind": "storage#object", "name": "hello.txt", "bucket": "hooklatch-demo"})
	if err != nil {
		text = nil
	}
	id, at := cmp.Or(id, freshID("")), now.UTC().Format(time.RFC3339Nano)
	return sampleJSON(object{
		"message": object{
			"attributes": object{"eventType": cmp.Or(eventType, "OBJECT_FINALIZE"), "bucketId": "hooklatch-demo", "payloadFormat": "JSON_API_V1"},
			"data":       base64.StdEncoding.EncodeToString(text), "messageId": id, "message_id": id, "publishTime": at, "publish_time": at,
		},
		"subscription": "projects/hooklatch-demo/subscriptions/push",
	})
}
