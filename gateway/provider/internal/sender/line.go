package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// LINE declares the Messaging API: a list of events, which is empty when LINE's console verifies
// the URL. Source: developers.line.biz, "Receive messages (webhook)", "Check webhook signature";
// line-bot-sdk-nodejs test/validate-signature.spec.ts.
func LINE(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("X-Line-Signature", "", proof.Base64)
	rule := proof.Each("/events", proof.Facts{
		ID:       proof.Verbatim(proof.At("/webhookEventId")),
		Kind:     proof.At("/type"),
		Occurred: proof.Clock{Pointer: "/timestamp", Unit: proof.Milliseconds},
	}.Of)
	return proof.SignedBy(s, &provider.Provider{
		Name:           "line",
		Title:          "LINE",
		HeaderFamilies: []string{"X-Line-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in base64, in the header X-Line-Signature. No time is signed.",
			KeyRule: "webhookEventId of each event. A redelivery keeps this id, although its body differs (deliveryContext.isRedelivery).",
			Setup: []string{
				"Open the channel in the LINE Developers Console, Messaging API. Set the webhook URL to {url}, press Verify, and switch " +
					"on Use webhook.",
				"Switch on Webhook redelivery: without it, LINE does not retry.",
				"The channel secret (tab Basic settings) is the secret of the source.",
			},
			Notes: []string{
				"A delivery has any number of events, and none when the console verifies the URL.",
				"replyToken works once, and only for a short time. Effects that run later should push messages instead, because LINE may " +
					"refuse the token.",
				"LINE does not publish how often and for how long it redelivers; Hooklatch assumes a day. The order of redelivered " +
					"events may change.",
				"Unconfirmed: the response deadline is 2 s.",
			},
			Docs: "https://developers.line.biz/en/docs/messaging-api/receiving-messages/",
		},
		Events:      rule.Events,
		Sample:      sampleLINE,
		Retry:       proof.RetrySigns{Again: proof.At("/events/0/deliveryContext/isRedelivery")}.Of,
		Deadline:    2 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleLINE(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "message")
	event := proof.Object{
		"type": eventType, "webhookEventId": cmp.Or(id, strings.ToUpper(proof.FreshID(""))), "timestamp": now.UnixMilli(), "mode": "active",
		"source":          proof.Object{"type": "user", "userId": "U4af4980629f1d2d3a4b5c6d7e8f90a1b"},
		"deliveryContext": proof.Object{"isRedelivery": false},
	}
	switch eventType {
	case "message":
		event["replyToken"] = proof.FreshID("")
		event["message"] = proof.Object{"type": "text", "id": "468789577898262530", "quoteToken": proof.FreshID(""), "text": "Hello from Hooklatch"}
	case "postback":
		event["replyToken"], event["postback"] = proof.FreshID(""), proof.Object{"data": "action=buy&itemid=1"}
	case "follow":
		event["replyToken"], event["follow"] = proof.FreshID(""), proof.Object{"isUnblocked": false}
	}
	return proof.SampleJSON(proof.Object{"destination": "U2d1c0b9a8f7e6d5c4b3a29180f7e6d5c", "events": []proof.Object{event}})
}
