package provider

import (
	"cmp"
	"context"
	"crypto/sha1"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// newIntercom knows Intercom's webhooks.
// Source: developers.intercom.com/docs/webhooks; intercom-developer-hub,
// "Signed Notifications".
func newIntercom(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Hub-Signature"}},
		prefix:   "sha1=",
		hash:     sha1.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	f := facts{id: verbatim(at("/id")), kind: at("/topic"), occurred: clock{Pointer: "/created_at", unit: seconds}}
	return &Provider{
		Name:  "intercom",
		Title: "Intercom",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA1 of the body in the header X-Hub-Signature, by the client secret of the app.",
			KeyRule:   "id in the body (notif_...). delivery_attempts and the times of the attempt do not count.",
			Setup: []string{
				"Open your app in the Developer Hub, Configure, Webhooks, and set the endpoint URL {url}.",
				"Use the client secret of the app (Basic information) for the secret of the source.",
				"Select the topics.",
			},
			Notes: []string{
				"A ping has no id; it is answered and not stored.",
				"Intercom tries again once, after a minute (unconfirmed): what it could not deliver then is lost.",
				"Unconfirmed: the call by HEAD when the URL is saved, which is answered 200, and that 410 ends the subscription.",
			},
			Docs: "https://developers.intercom.com/docs/webhooks",
		},
		Verify: s.verify,
		Events: func(r *Request) ([]Event, error) {
			d := &document{r: r}
			if root, err := d.json(); err == nil && lookup(root, "/topic").Str == "ping" && lookup(root, "/id").Type == gjson.Null {
				return nil, nil
			}
			return f.of(d)
		},
		Handshake:   probed,
		Methods:     []string{http.MethodPost, http.MethodHead},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		Sample:      sampleIntercom,
		Retry:       retrySigns{number: at("/delivery_attempts"), first: 1}.of,
		Deadline:    5 * time.Second,
		RetryWindow: time.Minute,
	}, nil
}

// probed answers the senders that look whether an endpoint is there.
func probed(_ context.Context, r *Request, _ []secret.Value, _ time.Time) (*Answer, error) {
	if r.Method != http.MethodHead {
		return nil, nil
	}
	return &Answer{Status: http.StatusOK}, nil
}

func sampleIntercom(eventType, id string, now time.Time) *Request {
	return sampleJSON(object{
		"type": "notification_event", "app_id": "hooklatch", "id": cmp.Or(id, "notif_"+uuid.NewString()),
		"topic": cmp.Or(eventType, "conversation.user.created"), "created_at": now.Unix(), "first_sent_at": now.Unix(),
		"delivery_status": "pending", "delivery_attempts": 1, "delivered_at": 0, "links": object{}, "self": nil,
		"data": object{"type": "notification_event_data", "item": object{
			"type": "conversation", "id": "215470393456", "created_at": now.Unix(), "updated_at": now.Unix(),
			"source": object{"type": "conversation", "subject": "", "body": "<p>Where is my order?</p>"},
		}},
	})
}
