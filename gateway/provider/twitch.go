package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Headers of EventSub. The id and the time are signed, the type is not.
const (
	twitchID    = "Twitch-Eventsub-Message-Id"
	twitchTime  = "Twitch-Eventsub-Message-Timestamp"
	twitchType  = "Twitch-Eventsub-Message-Type"
	twitchRetry = "Twitch-Eventsub-Message-Retry"
)

// twitch knows EventSub over webhooks.
// Source: dev.twitch.tv/docs/eventsub/handling-webhook-events; twurple
// packages/eventsub-http.
type twitch struct{ scheme scheme }

func newTwitch(o Options) (*Provider, error) {
	t := &twitch{scheme: scheme{
		headers:  []headerNames{{signature: "Twitch-Eventsub-Message-Signature", timestamp: twitchTime, id: twitchID}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: hexDigits,
		// Nothing stands between the parts, but a time can be read in one way
		// only: no byte of it can move to a neighbour.
		template:  template{inID, inTimestamp, inBody},
		secret:    keySpelling{encoding: rawBytes},
		unit:      rfc3339,
		tolerance: tolerance(o, 10*time.Minute),
		single:    []string{twitchType, twitchRetry},
	}}
	return &Provider{
		Name:  "twitch",
		Title: "Twitch EventSub",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the message id, the time and the body, in hex behind sha256=, in the header Twitch-Eventsub-Message-Signature.",
			KeyRule:   "The signed header Twitch-Eventsub-Message-Id; of drop.entitlement.grant, which is batched, the id of each event.",
			Setup: []string{
				"Make up a secret of 10 to 100 ASCII characters: it is the secret of the source.",
				"POST https://api.twitch.tv/helix/eventsub/subscriptions with transport: method webhook, callback {url}, and the secret.",
				"Twitch calls the URL at once, and Hooklatch answers the challenge: the source must be configured before.",
			},
			Notes: []string{
				"The callback must be https on port 443.",
				"A revoked subscription is an event of the type revocation and the type of the subscription.",
				"An endpoint that takes more than a few seconds too often loses the subscription (notification_failures_exceeded).",
				"Unconfirmed: for how long Twitch sends a message again, which it does not publish (an hour is assumed), that each attempt is signed anew, and that Twitch-Eventsub-Message-Retry counts them.",
			},
			Docs: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
		},
		Verify:      t.scheme.verify,
		Events:      t.events,
		Handshake:   t.handshake,
		Methods:     []string{http.MethodPost},
		CheckSecret: t.scheme.secret.check,
		Sign:        t.scheme.sign,
		Sample:      sampleTwitch,
		Retry:       retrySigns{number: inHeader(twitchRetry)}.of,
		Deadline:    3 * time.Second,
		RetryWindow: time.Hour,
	}, nil
}

// handshake answers the challenge of a new subscription, which is signed like
// everything else.
func (t *twitch) handshake(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (*Answer, error) {
	if r.Header.Get(twitchType) != "webhook_callback_verification" {
		return nil, nil
	}
	if _, err := t.scheme.verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	challenge, err := at("/challenge").text(&document{r: r})
	if err != nil {
		return nil, err
	}
	return &Answer{Status: http.StatusOK, ContentType: "text/plain", Body: []byte(challenge)}, nil
}

func (t *twitch) events(r *Request) ([]Event, error) {
	kind, version := at("/subscription/type"), at("/subscription/version")
	d := &document{r: r}
	notification := facts{id: verbatim(inHeader(twitchID)), kind: kind, version: version, needJSON: true}
	var rule eventRule = notification.of
	if r.Header.Get(twitchType) == "revocation" {
		notification.kind, notification.detail = fixed("revocation"), kind
		rule = notification.of
	} else if list, err := d.at("/events"); err == nil && list.Exists() {
		rule = each("/events", facts{id: verbatim(at("/id")), kind: kind.up(1), version: version.up(1)}.of)
	}
	events, err := rule(d)
	if err != nil {
		return nil, err
	}
	for i := range events {
		events[i].OccurredAt = headerTime(r, inHeader(twitchTime))
	}
	return events, nil
}

func sampleTwitch(eventType, id string, now time.Time) *Request {
	eventType, id = cmp.Or(eventType, "channel.follow"), cmp.Or(id, uuid.NewString())
	body := object{"subscription": object{
		"id": "f1c2a387-161a-49f9-a165-0f21d7a4e1c4", "status": "enabled", "type": eventType, "version": "2", "cost": 0,
		"condition":  object{"broadcaster_user_id": "12826", "moderator_user_id": "12826"},
		"transport":  object{"method": "webhook", "callback": "https://hooks.example.com/webhooks/twitch"},
		"created_at": now.UTC().Format(time.RFC3339Nano),
	}}
	who := object{"user_id": "1234", "user_login": "cooler_user", "user_name": "Cooler_User", "broadcaster_user_id": "12826"}
	if eventType == "drop.entitlement.grant" {
		body["events"] = []object{{"id": id, "data": who}}
		id = uuid.NewString()
	} else {
		who["followed_at"] = now.UTC().Format(time.RFC3339Nano)
		body["event"] = who
	}
	return sampleJSON(body,
		twitchID, id,
		twitchType, "notification",
		twitchRetry, "0",
		"Twitch-Eventsub-Subscription-Type", eventType,
		"Twitch-Eventsub-Subscription-Version", "2")
}
