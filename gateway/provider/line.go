package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
)

// newLINE knows the Messaging API: a list of events, empty when the console
// verifies the URL.
// Source: developers.line.biz, "Receive messages (webhook)", "Check webhook
// signature"; line-bot-sdk-nodejs test/validate-signature.spec.ts.
func newLINE(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Line-Signature"}},
		hash:     sha256.New,
		encoding: base64Std,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	rule := each("/events", facts{
		id:       verbatim(at("/webhookEventId")),
		kind:     at("/type"),
		occurred: clock{Pointer: "/timestamp", unit: milliseconds},
	}.of)
	return &Provider{
		Name:  "line",
		Title: "LINE",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in base64, in the header X-Line-Signature. No time is signed.",
			KeyRule:   "webhookEventId of each event. A redelivery keeps it, though its body differs (deliveryContext.isRedelivery).",
			Setup: []string{
				"LINE Developers Console, the channel, Messaging API: set the webhook URL to {url}, press Verify, switch on Use webhook.",
				"Switch on Webhook redelivery: without it LINE does not try again.",
				"The channel secret (tab Basic settings) is the secret of the source.",
			},
			Notes: []string{
				"A delivery has any number of events; none when the console verifies the URL.",
				"replyToken can be used once and not for long: what runs later should push, or expect the token to be refused.",
				"Unconfirmed: how often and for how long LINE redelivers, which it does not publish; a day is assumed. The order of redelivered events may change.",
				"Unconfirmed: an answer within 2 s.",
			},
			Docs: "https://developers.line.biz/en/docs/messaging-api/receiving-messages/",
		},
		Verify:      s.verify,
		Events:      rule.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleLINE,
		Retry:       retrySigns{again: at("/events/0/deliveryContext/isRedelivery")}.of,
		Deadline:    2 * time.Second,
		RetryWindow: day,
	}, nil
}

func sampleLINE(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "message")
	event := object{
		"type": eventType, "webhookEventId": cmp.Or(id, strings.ToUpper(freshID(""))), "timestamp": now.UnixMilli(), "mode": "active",
		"source":          object{"type": "user", "userId": "U4af4980629f1d2d3a4b5c6d7e8f90a1b"},
		"deliveryContext": object{"isRedelivery": false},
	}
	switch eventType {
	case "message":
		event["replyToken"] = freshID("")
		event["message"] = object{"type": "text", "id": "468789577898262530", "quoteToken": freshID(""), "text": "Hello from Hooklatch"}
	case "postback":
		event["replyToken"], event["postback"] = freshID(""), object{"data": "action=buy&itemid=1"}
	case "follow":
		event["replyToken"], event["follow"] = freshID(""), object{"isUnblocked": false}
	}
	return sampleJSON(object{"destination": "U2d1c0b9a8f7e6d5c4b3a29180f7e6d5c", "events": []object{event}})
}
