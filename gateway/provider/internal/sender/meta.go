package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/graphapi"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Meta declares the Graph API's webhooks: Messenger, Instagram, Threads, Pages and others. The
// function WhatsApp declares the webhooks of WhatsApp. The providers meta and whatsapp accept each
// other's deliveries. Source: developers.facebook.com/docs/graph-api/webhooks and
// /docs/threads/webhooks; github.com/fbsamples/graph-api-webhooks-samples.
func Meta(o provider.Options) (*provider.Provider, error) {
	p := graphapi.Product(o)
	p.Name, p.Title = "meta", "Meta"
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Others,
			EventID:     provider.Nobody,
			Handshake:   provider.Others,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: graphapi.Signing,
		KeyRule: "A delivery may have many events. Messages of Messenger and Instagram: `mid`, followed by echo or deleted for an echo or a deletion. Items " +
			"without an id: a hash of the entry's id and time and of the content. The content is the field and value of a change, or the " +
			"whole item of a conversation. Threads: a hash of the whole delivery, which is one event.",
		Setup: graphapi.Setup("Webhooks (or Messenger, Instagram)"),
		Notes: append(graphapi.Notes(),
			proof.KeyHasMore,
			"The type of an event of Threads is its field, such as replies or mentions. Unconfirmed: Meta signs with the App Secret. If deliveries are "+
				"refused, add the Threads App Secret to the secrets of the source.",
			"Meta retries for 36 hours, immediately at first, then less and less often. After that the update is lost.",
			"A change without an id is a duplicate only if its times are the same. Equal changes at different times are separate events. "+
				"Unconfirmed: a retry keeps the times. If there is no time, a retry is a second event.",
		),
		Docs: "https://developers.facebook.com/docs/graph-api/webhooks",
	}
	p.Sample = sampleMeta
	p.RetryWindow = 36 * time.Hour
	return p, nil
}

func sampleMeta(eventType, id string, now time.Time) *provider.Request {
	whose, kind, _ := strings.Cut(cmp.Or(eventType, "page.message"), ".")
	id = cmp.Or(id, proof.FreshID("m_"))
	entry := proof.Object{"id": "102034567890", "time": now.UnixMilli()}
	said := proof.Object{"mid": id, "text": "Hello from Hooklatch"}
	switch kind, mark, _ := strings.Cut(kind, "."); kind {
	case "message", "postback", "read", "reaction":
		switch {
		case mark != "":
			said["is_"+mark] = true
		case kind == "read":
			said = proof.Object{"watermark": now.UnixMilli(), "mid": id}
		case kind == "reaction":
			said = proof.Object{"mid": id, "action": "react", "reaction": "love", "emoji": "\u2764"}
		case kind == "postback":
			said = proof.Object{"mid": id, "title": "Get started", "payload": "START"}
		}
		entry["messaging"] = []proof.Object{{
			"sender": proof.Object{"id": "7094123456"}, "recipient": proof.Object{"id": entry["id"]}, "timestamp": now.UnixMilli(), kind: said,
		}}
	default:
		entry["time"] = now.Unix()
		entry["changes"] = []proof.Object{{"field": cmp.Or(kind, "feed"), "value": proof.Object{
			"item": "comment", "verb": "add", "comment_id": id, "post_id": "102034567890_1", "created_time": now.Unix(),
			"from": proof.Object{"id": "7094123456", "name": "Ada Lovelace"}, "message": "Hello from Hooklatch",
		}}}
	}
	return proof.SampleJSON(proof.Object{"object": whose, "entry": []proof.Object{entry}})
}
