package sender

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// EventSub's headers. The id and the time are signed, the type is not.
const (
	twitchID    = "Twitch-Eventsub-Message-Id"
	twitchTime  = "Twitch-Eventsub-Message-Timestamp"
	twitchType  = "Twitch-Eventsub-Message-Type"
	twitchRetry = "Twitch-Eventsub-Message-Retry"
)

type twitch struct{ scheme proof.Scheme }

// Twitch declares EventSub over webhooks.
// Source: dev.twitch.tv/docs/eventsub/handling-webhook-events; twurple
// packages/eventsub-http.
func Twitch(o provider.Options) (*provider.Provider, error) {
	t := &twitch{scheme: proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: "Twitch-Eventsub-Message-Signature", Timestamp: twitchTime, ID: twitchID}},
		Prefix:   "sha256=",
		Hash:     sha256.New,
		Encoding: proof.Hex,
		// The parts have no separator, but a time can be read in only one way: none of its bytes
		// can move to a neighboring part.
		Template:  proof.Template{proof.InID, proof.InTimestamp, proof.InBody},
		Secret:    proof.KeySpelling{Encoding: proof.Raw},
		Unit:      proof.RFC3339,
		Tolerance: proof.Tolerance(o, 10*time.Minute),
		Single:    []string{twitchType, twitchRetry},
	}}
	return &provider.Provider{
		Name:           "twitch",
		Title:          "Twitch EventSub",
		HeaderFamilies: []string{"Twitch-Eventsub-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector,
				EventID:     provider.Documentation,
				Handshake:   provider.Documentation,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the message id, the time and the body, in hex after sha256=, in the header Twitch-Eventsub-Message-Signature.",
			KeyRule: "The signed header Twitch-Eventsub-Message-Id; for drop.entitlement.grant, which is batched, the id of each event.",
			Setup: []string{
				"Choose a secret of 10 to 100 ASCII characters: it is the secret of the source.",
				"Create the subscription: POST https://api.twitch.tv/helix/eventsub/subscriptions. In transport, set method to webhook, " +
					"callback to {url}, and secret to your secret.",
				"Twitch calls the URL immediately, and Hooklatch answers the challenge: configure the source first.",
			},
			Notes: []string{
				"The callback must be https on port 443.",
				"A revoked subscription is an event whose type is revocation and the type of the subscription: revocation.channel.follow.",
				"Twitch revokes the subscription of an endpoint that too often takes more than a few seconds (notification_failures_exceeded).",
				"Twitch does not publish for how long it retries a message; Hooklatch assumes an hour. Unconfirmed: each attempt is " +
					"signed anew, and Twitch-Eventsub-Message-Retry counts the attempts.",
			},
			Docs: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
		},
		Verify:      t.scheme.Verify,
		Events:      t.events,
		Handshake:   t.handshake,
		CheckSecret: t.scheme.Secret.Check,
		Sign:        t.scheme.Sign,
		Sample:      sampleTwitch,
		Retry:       proof.RetrySigns{Number: proof.InHeader(twitchRetry)}.Of,
		Deadline:    3 * time.Second,
		RetryWindow: time.Hour,
	}, nil
}

// handshake answers a new subscription's challenge, which is signed like all other requests.
func (t *twitch) handshake(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (*provider.Answer, error) {
	if r.Header.Get(twitchType) != "webhook_callback_verification" {
		return nil, nil
	}
	if _, err := t.scheme.Verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	challenge, err := proof.At("/challenge").Text(&proof.Document{R: r})
	if err != nil {
		return nil, err
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain", Body: []byte(challenge)}, nil
}

func (t *twitch) events(r *provider.Request) ([]provider.Event, error) {
	kind, version := proof.At("/subscription/type"), proof.At("/subscription/version")
	d := &proof.Document{R: r}
	notification := proof.Facts{ID: proof.Verbatim(proof.InHeader(twitchID)), Kind: kind, Version: version, NeedJSON: true}
	var rule proof.EventRule = notification.Of
	if r.Header.Get(twitchType) == "revocation" {
		notification.Kind, notification.Detail = proof.Fixed("revocation"), kind
		rule = notification.Of
	} else if list, err := d.At("/events"); err == nil && list.IsArray() {
		rule = proof.Each("/events", proof.Facts{ID: proof.Verbatim(proof.At("/id")), Kind: kind.Up(1), Version: version.Up(1)}.Of)
	}
	events, err := rule(d)
	if err != nil {
		return nil, err
	}
	for i := range events {
		events[i].OccurredAt = proof.HeaderTime(r, proof.InHeader(twitchTime))
	}
	return events, nil
}

func sampleTwitch(eventType, id string, now time.Time) *provider.Request {
	eventType, id = cmp.Or(eventType, "channel.follow"), cmp.Or(id, uuid.NewString())
	body := proof.Object{"subscription": proof.Object{
		"id": "f1c2a387-161a-49f9-a165-0f21d7a4e1c4", "status": "enabled", "type": eventType, "version": "2", "cost": 0,
		"condition":  proof.Object{"broadcaster_user_id": "12826", "moderator_user_id": "12826"},
		"transport":  proof.Object{"method": "webhook", "callback": "https://hooks.example.com/webhooks/twitch"},
		"created_at": now.UTC().Format(time.RFC3339Nano),
	}}
	who := proof.Object{"user_id": "1234", "user_login": "cooler_user", "user_name": "Cooler_User", "broadcaster_user_id": "12826"}
	if eventType == "drop.entitlement.grant" {
		body["events"] = []proof.Object{{"id": id, "data": who}}
		id = uuid.NewString()
	} else {
		who["followed_at"] = now.UTC().Format(time.RFC3339Nano)
		body["event"] = who
	}
	return proof.SampleJSON(body,
		twitchID, id,
		twitchType, "notification",
		twitchRetry, "0",
		"Twitch-Eventsub-Subscription-Type", eventType,
		"Twitch-Eventsub-Subscription-Version", "2")
}
