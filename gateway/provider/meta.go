package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// newMeta knows the webhooks of the Graph API: Messenger, Instagram, Pages,
// users, ... What WhatsApp adds is in whatsapp.go; either takes the other's
// deliveries.
// Source: developers.facebook.com/docs/graph-api/webhooks;
// github.com/fbsamples/graph-api-webhooks-samples.
func newMeta(o Options) (*Provider, error) {
	p := metaProvider(o)
	p.Name, p.Title = "meta", "Meta"
	p.About = About{
		Confirmed: Unconfirmed,
		Signing:   metaSigning,
		KeyRule: "A delivery has many events. Messages of Messenger and Instagram: `mid`, with echo or deleted where it is one. What has no " +
			"id: a hash of the id and the time of its entry and of all that it says (field and value of a change; sender, recipient and " +
			"timestamp of what happens in a conversation).",
		Setup: metaSetup("Webhooks (or Messenger, Instagram)"),
		Notes: append(metaNotes(),
			"Retries go on for 36 hours, at first at once, then ever more rarely. Then the update is lost.",
			"A change without an id counts as the same only when the time of its entry is the same: two equal changes are two events. "+
				"Unconfirmed: a retry keeps that time.",
		),
		Docs: "https://developers.facebook.com/docs/graph-api/webhooks",
	}
	p.Sample = sampleMeta
	p.RetryWindow = 36 * time.Hour
	return p, nil
}

const metaSigning = "HMAC-SHA256 over the body, in hex behind sha256= in the header `X-Hub-Signature-256`. No time is signed."

func metaSetup(product string) []string {
	return []string{
		"App Dashboard, App settings, Basic: the App Secret is the secret of the source.",
		"Make up a verify token, and set it as `verify_token` of the source. Start the gateway: Meta checks the URL while it is saved.",
		product + ", Configuration: callback URL {url}, the same verify token, then subscribe to the fields.",
	}
}

func metaNotes() []string {
	return []string{
		"One delivery carries up to 1,000 updates. Each becomes an event of its own, and the body is stored once.",
		"Duplicates and another order are normal.",
		"The older header `X-Hub-Signature` (SHA-1) is ignored.",
		"The check of the URL is refused while no `verify_token` is set.",
		"Unconfirmed: bodies of up to 3 MB.",
	}
}

const metaVerifyToken = "hub.verify_token"

// metaProvider makes what all products of Meta share.
func metaProvider(o Options) *Provider {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Hub-Signature-256"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	return &Provider{
		Verify: s.verify,
		Events: metaEvents().events,
		Handshake: func(_ context.Context, r *Request, _ []secret.Value, _ time.Time) (*Answer, error) {
			return metaHandshake(r, o.VerifyToken)
		},
		Methods:     []string{http.MethodGet, http.MethodPost},
		CheckSecret: s.checkSecret,
		Sign:        s.sign,
		SecretQuery: []string{metaVerifyToken},
		ReplayToken: s.replayToken,
		MaxBody:     3 << 20,
	}
}

// metaHandshake echoes the challenge of a GET that knows the verify token.
func metaHandshake(r *Request, token secret.Value) (*Answer, error) {
	if r.Method != http.MethodGet || r.URL == nil {
		return nil, nil
	}
	query := r.URL.Query()
	given, challenge := query[metaVerifyToken], query["hub.challenge"]
	switch {
	case query.Get("hub.mode") != "subscribe" || len(challenge) != 1:
		return nil, &VerifyError{Reason: ReasonMissingSignature, Detail: "a GET that is no check of the URL"}
	case len(given) != 1:
		return nil, &VerifyError{Reason: ReasonMissingToken, Detail: metaVerifyToken}
	case token.IsZero():
		return nil, &VerifyError{Reason: ReasonWrongToken, Detail: "the source has no verify_token"}
	case subtle.ConstantTimeCompare([]byte(given[0]), []byte(token.Reveal())) != 1:
		return nil, &VerifyError{Reason: ReasonWrongToken, Detail: metaVerifyToken}
	}
	return &Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(challenge[0])}, nil
}

// metaEvents fans a delivery out: its entries hold changes of fields, or what
// happened in conversations.
func metaEvents() eventRule {
	lists := allOf(
		eachIfAny("/changes", metaChange),
		eachIfAny("/messaging", metaConversation("")),
		eachIfAny("/standby", metaConversation("standby.")),
	)
	return each("/entry", func(d *document) ([]Event, error) {
		for _, list := range []string{"/changes", "/messaging", "/standby"} {
			if found, err := d.at(list); err != nil || found.Exists() {
				return lists(d)
			}
		}
		// An app that does not ask for values gets the names of the changed
		// fields only.
		return facts{id: hashed(at("")), kind: fixed(metaObject(d, 1) + "changed")}.of(d)
	})
}

// metaObject is the first part of a type: whose change it is, so many lists
// above d.
func metaObject(d *document, levels int) string {
	object := at("/object").up(levels).optional(d)
	if object == whatsAppObject { // the only one whose types begin with the field
		return ""
	}
	return cmp.Or(object, unknownType) + "."
}

// metaChange describes one change of a field. Meta gives it no id: the time of
// its entry tells it from an equal one.
func metaChange(d *document) ([]Event, error) {
	if at("/object").up(2).optional(d) == whatsAppObject && at("/field").optional(d) == "messages" {
		return whatsAppMessages(d)
	}
	return metaUpdate(d)
}

func metaUpdate(d *document) ([]Event, error) {
	name, err := at("/field").text(d)
	if err != nil {
		return nil, d.blame(err)
	}
	return facts{
		id:       hashedSome([]field{at("/field")}, at("/value"), at("/id").up(1), at("/time").up(1)),
		kind:     fixed(metaObject(d, 2) + name),
		occurred: clock{Pointer: "/time"}.up(1),
	}.of(d)
}

// metaConversation describes what happened in a conversation: a message, or
// something about one.
func metaConversation(channel string) eventRule {
	return func(d *document) ([]Event, error) {
		kind, err := metaKind(d)
		if err != nil {
			return nil, d.blame(err)
		}
		rule := facts{
			id: hashedSome(
				[]field{at("/" + escapePointer.Replace(kind))},
				at("/sender"), at("/recipient"), at("/timestamp"), at("/id").up(1), fixed(channel+kind),
			),
			kind:     fixed(metaObject(d, 2) + channel + kind),
			occurred: clock{Pointer: "/timestamp"},
		}
		if kind != "message" {
			return rule.of(d)
		}
		// A deleted message comes again under its id, and an echo may.
		mark := ""
		switch {
		case at("/message/is_deleted").holds(d):
			mark = ".deleted"
		case at("/message/is_echo").holds(d):
			mark = ".echo"
		}
		rule.kind.Fixed += mark
		if mid := at("/message/mid"); mid.optional(d) != "" {
			rule.id = composite(mid)
			if what := channel + mark; what != "" {
				rule.id = composite(mid, fixed(strings.Trim(what, ".")))
			}
		}
		return rule.of(d)
	}
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// metaKind names what an item of a conversation is about: the member that says
// neither who nor when.
func metaKind(d *document) (string, error) {
	root, err := d.json()
	if err != nil {
		return "", err
	}
	kind := ""
	root.ForEach(func(key, value gjson.Result) bool {
		switch name := key.Str; {
		case !root.IsObject() || !value.IsObject() || name == "sender" || name == "recipient" || name == "account":
		case name == "message" || kind == "": // other members may stand beside a message
			kind = name
		case kind != "message":
			kind = min(kind, name) // whatever their order
		}
		return true
	})
	if kind == "" || !clean(kind) {
		return "", &EventError{Message: "the item does not say what happened"}
	}
	return kind, nil
}

func sampleMeta(eventType, id string, now time.Time) *Request {
	whose, kind, _ := strings.Cut(cmp.Or(eventType, "page.message"), ".")
	id = cmp.Or(id, freshID("m_"))
	entry := object{"id": "102034567890", "time": now.UnixMilli()}
	said := object{"mid": id, "text": "Hello from Hooklatch"}
	switch kind, mark, _ := strings.Cut(kind, "."); kind {
	case "message", "postback", "read", "reaction":
		switch {
		case mark != "":
			said["is_"+mark] = true
		case kind == "read":
			said = object{"watermark": now.UnixMilli(), "mid": id}
		case kind == "reaction":
			said = object{"mid": id, "action": "react", "reaction": "love", "emoji": "\u2764"}
		case kind == "postback":
			said = object{"mid": id, "title": "Get started", "payload": "START"}
		}
		entry["messaging"] = []object{{
			"sender": object{"id": "7094123456"}, "recipient": object{"id": entry["id"]}, "timestamp": now.UnixMilli(), kind: said,
		}}
	default:
		entry["time"] = now.Unix()
		entry["changes"] = []object{{"field": cmp.Or(kind, "feed"), "value": object{
			"item": "comment", "verb": "add", "comment_id": id, "post_id": "102034567890_1", "created_time": now.Unix(),
			"from": object{"id": "7094123456", "name": "Ada Lovelace"}, "message": "Hello from Hooklatch",
		}}}
	}
	return sampleJSON(object{"object": whose, "entry": []object{entry}})
}
