package sender

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/graphapi"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// WhatsApp declares the Business Cloud API. A delivery has up to a thousand messages and statuses,
// in lists inside lists. Source: developers.facebook.com/docs/whatsapp/cloud-api/webhooks;
// docs.360dialog.com, "Receiving messages via webhook".
func WhatsApp(o provider.Options) (*provider.Provider, error) {
	p := graphapi.Product(o)
	p.Name, p.Title = "whatsapp", "WhatsApp"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Others,
			EventID:     provider.Nobody,
			Handshake:   provider.Others,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: graphapi.Signing,
		KeyRule: "A delivery may have many events. A message: its id (wamid...). A status: the id of its message and the status, because " +
			"sent, delivered and read share one id. The key of a group status also contains the participant, and the key of a payment " +
			"status the payment. Other fields, which have no id: a hash of the entry's id and time, the field and the value. " +
			"A change without any time, such as a report of errors, has a new key each time.",
		Setup: graphapi.Setup("WhatsApp"),
		Notes: append(graphapi.Notes(),
			"WhatsApp retries for 7 days, less and less often. It keeps no history from which to fetch missed events.",
			"A status may arrive before the message it is about, and read may arrive before delivered.",
			"WhatsApp recommends a median response time of 250 ms, and less than 1 % of responses over 1 s.",
			"A change without an id is a duplicate only if its times are the same. Unconfirmed: a retry keeps them. "+
				"If there is no time, a retry is a second event.",
		),
		Docs: "https://developers.facebook.com/docs/whatsapp/cloud-api/guides/set-up-webhooks",
	}
	p.Sample = sampleWhatsApp
	p.RetryWindow = 7 * proof.Day
	return p, nil
}

func sampleWhatsApp(eventType, id string, now time.Time) *provider.Request {
	kind, detail, _ := strings.Cut(cmp.Or(eventType, "message.text"), ".")
	id = cmp.Or(id, proof.FreshID("wamid."))
	at := strconv.FormatInt(now.Unix(), 10)
	value := proof.Object{
		"messaging_product": "whatsapp",
		"metadata":          proof.Object{"display_phone_number": "15550783881", "phone_number_id": "106540352242922"},
	}
	field := "messages"
	switch kind {
	case "message":
		message := proof.Object{"from": "16505551234", "id": id, "timestamp": at, "type": cmp.Or(detail, "text")}
		if detail == "" || detail == "text" {
			message["text"] = proof.Object{"body": "Hello from Hooklatch"}
		}
		value["contacts"] = []proof.Object{{"profile": proof.Object{"name": "Ada Lovelace"}, "wa_id": "16505551234"}}
		value["messages"] = []proof.Object{message}
	case "status":
		value["statuses"] = []proof.Object{{"id": id, "status": cmp.Or(detail, "delivered"), "timestamp": at, "recipient_id": "16505551234"}}
	default:
		field = cmp.Or(eventType, kind)
		value = proof.Object{"event": "APPROVED", "message_template_id": id, "message_template_name": "welcome", "message_template_language": "en"}
	}
	return proof.SampleJSON(proof.Object{"object": graphapi.WhatsAppObject, "entry": []proof.Object{
		{"id": "102290129340398", "time": now.Unix(), "changes": []proof.Object{{"field": field, "value": value}}},
	}})
}
