package sender

import (
	"cmp"
	"context"
	"crypto/sha1"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Intercom declares Intercom's webhooks.
// Source: developers.intercom.com/docs/webhooks; intercom-developer-hub,
// "Signed Notifications".
func Intercom(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("X-Hub-Signature", "sha1=", proof.Hex)
	s.Hash = sha1.New
	f := proof.Facts{ID: proof.Verbatim(proof.At("/id")), Kind: proof.At("/topic"), Occurred: proof.Clock{Pointer: "/created_at", Unit: proof.Seconds}}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "intercom",
		Title:          "Intercom",
		HeaderFamilies: []string{"X-Hub-Signature*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.Nobody,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA1 of the body in the header X-Hub-Signature, keyed with the client secret of the app.",
			KeyRule: "id in the body (notif_...). delivery_attempts and the times of the attempt are not part of the key.",
			Setup: []string{
				"Open your app in the Developer Hub, Configure, Webhooks, and set the endpoint URL {url}.",
				"Use the client secret of the app (Basic information) as the secret of the source.",
				"Select the topics.",
			},
			Notes: []string{
				"A ping has no id; Hooklatch answers it and stores nothing.",
				"Intercom retries once, after a minute (unconfirmed). An event that fails again is lost.",
				"Unconfirmed: Intercom sends a HEAD request when the URL is saved, and a response of 410 ends the subscription. " +
					"Hooklatch answers HEAD with 200.",
			},
			Docs: "https://developers.intercom.com/docs/webhooks",
		},
		Events: func(r *provider.Request) ([]provider.Event, error) {
			d := &proof.Document{R: r}
			if root, err := d.JSON(); err == nil && proof.Lookup(root, "/topic").Str == "ping" && proof.Lookup(root, "/id").Type == gjson.Null {
				return nil, nil
			}
			return f.Of(d)
		},
		Handshake:   probed,
		Methods:     []string{http.MethodPost, http.MethodHead},
		Sample:      sampleIntercom,
		Retry:       proof.RetrySigns{Number: proof.At("/delivery_attempts"), First: 1}.Of,
		Deadline:    5 * time.Second,
		RetryWindow: time.Minute,
	}), nil
}

// probed answers the HEAD request with which a sender checks whether the endpoint exists.
func probed(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
	if r.Method != http.MethodHead {
		return nil, nil
	}
	return &provider.Answer{Status: http.StatusOK}, nil
}

func sampleIntercom(eventType, id string, now time.Time) *provider.Request {
	return proof.SampleJSON(proof.Object{
		"type": "notification_event", "app_id": "hooklatch", "id": cmp.Or(id, "notif_"+uuid.NewString()),
		"topic": cmp.Or(eventType, "conversation.user.created"), "created_at": now.Unix(), "first_sent_at": now.Unix(),
		"delivery_status": "pending", "delivery_attempts": 1, "delivered_at": 0, "links": proof.Object{}, "self": nil,
		"data": proof.Object{"type": "notification_event_data", "item": proof.Object{
			"type": "conversation", "id": "215470393456", "created_at": now.Unix(), "updated_at": now.Unix(),
			"source": proof.Object{"type": "conversation", "subject": "", "body": "<p>Where is my order?</p>"},
		}},
	})
}
