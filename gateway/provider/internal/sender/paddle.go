package sender

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Paddle declares Paddle Billing. Paddle Classic signs differently and is not supported.
// Source: developer.paddle.com/webhooks, "Respond to webhooks"; paddle-node-sdk
// webhooks-validator.node.test.ts.
func Paddle(o provider.Options) (*provider.Provider, error) {
	s := &proof.Scheme{
		Headers:   []proof.HeaderNames{{Signature: "Paddle-Signature"}},
		Pairs:     &proof.Pairs{Separator: ";", Assign: "=", Signature: "h1", Timestamp: "ts"},
		Hash:      sha256.New,
		Encoding:  proof.Hex,
		Template:  proof.Template{proof.InTimestamp, ":", proof.InBody},
		Secret:    proof.KeySpelling{Encoding: proof.Raw}, // pdl_ntfset_ is part of the key
		Unit:      proof.Seconds,
		Tolerance: proof.Tolerance(o, proof.StandardTolerance),
	}
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/event_id")),
		Kind:     proof.At("/event_type"),
		Occurred: proof.Clock{Pointer: "/occurred_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "paddle",
		Title:          "Paddle",
		HeaderFamilies: []string{"Paddle-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the time, a colon and the body, in hex after `h1=` in the header `Paddle-Signature`. While the " +
				"secret is rotated, there are several signatures.",
			KeyRule: "`/event_id` of the body (evt_...). `/notification_id` differs between destinations.",
			Setup: []string{
				"Open Developer Tools, Notifications, New destination. Choose the type Webhook, enter the URL {url}, and choose the " +
					"events.",
				"Edit destination shows the secret key (pdl_ntfset_...): the whole key is the secret of the source.",
			},
			Notes: []string{
				"Sandbox and live are two accounts with two secrets: use two sources. The simulator's events to a live destination have ids that begin with " +
					"`ntfsimevt_`; `livemode: true` of the source refuses them.",
				"Paddle's own library for Node refuses requests older than 5 s. Hooklatch allows 300 s, because clocks differ; " +
					"`tolerance` changes this. Unconfirmed: each attempt is signed anew. Watch for requests refused with old_timestamp.",
				"The sandbox tries 3 times within 15 minutes, and the live system 60 times within 3 days.",
				"Unconfirmed: a replay has another `notification_id`, and is possible for 90 days. It keeps the `event_id`, so raise the " +
					"retention of keys to the time within which you replay.",
				"Paddle Classic (`p_signature`, `alert_id`) is not supported.",
			},
			Backfill: "GET /events?after= lists events, and GET /notifications?status=failed lists failed notifications. POST " +
				"/notifications/{id}/replay resends one.",
			Docs: "https://developer.paddle.com/webhooks/overview",
		},
		List:        paddleList(),
		Events:      f.Events,
		Sample:      samplePaddle,
		ReplayToken: s.ReplayToken,
		TestEvent:   proof.TestWherePrefix(proof.At("/event_id"), "ntfsimevt_"),
		Deadline:    5 * time.Second,
		RetryWindow: 3 * proof.Day,
	}), nil
}

func samplePaddle(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "transaction.completed")
	id = cmp.Or(id, proof.FreshID("evt_"))
	at, suffix := now.UTC().Format(time.RFC3339Nano), strings.TrimPrefix(id, "evt_")
	data := proof.Object{"id": "ent_" + suffix, "status": "active", "customer_id": "ctm_" + suffix, "created_at": at, "updated_at": at}
	switch entity, _, _ := strings.Cut(eventType, "."); entity {
	case "transaction":
		data["id"], data["status"], data["currency_code"], data["origin"] = "txn_"+suffix, "completed", "USD", "web"
		data["details"] = proof.Object{"totals": proof.Object{"subtotal": "3500", "tax": "700", "total": "4200", "grand_total": "4200", "currency_code": "USD"}}
	case "subscription":
		data["id"], data["currency_code"], data["next_billed_at"] = "sub_"+suffix, "USD", now.UTC().AddDate(0, 1, 0).Format(time.RFC3339)
	case "customer":
		data["id"], data["email"], data["name"] = "ctm_"+suffix, "ada@example.com", "Ada Lovelace"
	}
	return proof.SampleJSON(proof.Object{
		"event_id": id, "event_type": eventType, "occurred_at": at, "notification_id": proof.FreshID("ntf_"), "data": data,
	})
}

// paddleList lists one notification destination's notifications, with complete payloads.
// Source: developer.paddle.com/api-reference/notifications; paddle-go-sdk notifications.go.
func paddleList() *provider.List {
	return &provider.List{
		Base:     "https://api.paddle.com",
		Endpoint: `ntfset_[a-z0-9]+`, Example: "ntfset_01gkpjp8bkm3tm53kdgkx6sms7",
		Rights:     "Notifications: read and Notification settings: read.",
		Credential: "Authorization: Bearer {token}",
		Rate:       2, BackDays: 90,
		Path:  "/notifications?notification_setting_id={endpoint}&per_page=200&order_by=id[ASC]&from={since}&to={until}&after={last}",
		Items: "/data", Next: provider.Next{More: "/meta/pagination/has_more"}, Order: provider.OldestFirst,
		Ref: "/id", Time: "/payload/occurred_at", Body: "/payload",
		State: "/status", Delivered: []string{"delivered"}, Pending: []string{"needs_retry", "not_attempted"},
		Check: &provider.EndpointFacts{
			Path: "/notification-settings/{endpoint}", URL: "data.destination", On: "data.active", OnIs: []string{"true"},
			WhoTurnsOff: "A user deactivated the notification destination.",
		},
	}
}
