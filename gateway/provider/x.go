package provider

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// x knows the webhooks of X: the Activity API, with one event for a delivery,
// and the Account Activity API before it, with lists of them.
// Source: docs.x.com/x-api/webhooks/introduction, /x-api/activity,
// /x-api/account-activity.
type x struct{ scheme scheme }

func newX(Options) (*Provider, error) {
	x := &x{scheme: scheme{
		headers:  []headerNames{{signature: "X-Twitter-Webhooks-Signature"}},
		prefix:   "sha256=",
		hash:     sha256.New,
		encoding: base64Std,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}}
	return &Provider{
		Name:  "x",
		Title: "X",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in base64 behind sha256=, in the header x-twitter-webhooks-signature. No time is signed.",
			KeyRule: "/data/event_uuid (Activity API). In the lists of the Account Activity API the name of the list, the subscribed user and the id " +
				"of the item, or a hash of the item where it has no id (follows, blocks, ...).",
			Setup: []string{
				"Developer portal, the app, Keys and tokens: the API key secret (consumer secret) is the secret of the source.",
				"POST https://api.x.com/2/webhooks with the URL {url}. X checks it at once, and Hooklatch answers: the source must be configured before.",
			},
			Notes: []string{
				"X checks the URL again every hour or so, with GET and crc_token. A wrong answer stops the webhook at once. While secrets are rotated, the first one of the source answers.",
				"The URL may not contain a port.",
				"A check is signed with the same key as an event. Hooklatch answers only tokens that cannot be an event, so that nobody can have one signed.",
				"Unconfirmed: the types of lists other than posts, likes and messages, and that X repeats a delivery by itself within a day. Events can be replayed on request for five days.",
			},
			Backfill: "A replay job: POST /2/account_activity/replay/webhooks/{id}/subscriptions/all.",
			Docs:     "https://docs.x.com/x-api/webhooks/introduction",
		},
		Verify:      x.scheme.verify,
		Events:      x.events,
		Handshake:   x.check,
		Methods:     []string{http.MethodPost, http.MethodGet},
		CheckSecret: x.scheme.secret.check,
		Sign:        x.scheme.sign,
		Sample:      sampleX,
		Deadline:    10 * time.Second,
		RetryWindow: day, ResendWindow: 5 * day,
	}, nil
}

// check answers the challenge-response check, which is not signed itself. Its
// answer is the signature of the token, which would be the signature of an
// event, were the token one: so a token is taken only when it cannot be a JSON
// object.
func (x *x) check(_ context.Context, r *Request, secrets []secret.Value, _ time.Time) (*Answer, error) {
	if r.Method != http.MethodGet || r.URL == nil || !r.URL.Query().Has("crc_token") {
		return nil, nil
	}
	token := r.URL.Query().Get("crc_token")
	if token == "" || len(token) > maxEcho || strings.ContainsFunc(token, notInToken) {
		return nil, &EventError{Unreadable: true, Message: "crc_token in the URL is no token"}
	}
	if len(secrets) == 0 {
		return nil, errNoSecret
	}
	key, err := x.scheme.secret.key(secrets[0])
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token))
	body, err := json.Marshal(object{"response_token": "sha256=" + base64Std.encode(mac.Sum(nil))})
	if err != nil {
		return nil, err
	}
	return &Answer{Status: http.StatusOK, ContentType: jsonType, Body: body}, nil
}

func notInToken(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("-_.~+/=", c)
}

func (x *x) events(r *Request) ([]Event, error) {
	d := &document{r: r}
	root, err := d.json()
	if err != nil {
		return nil, err
	}
	if lookup(root, "/data").Exists() {
		return facts{
			id: verbatim(at("/data/event_uuid")), kind: at("/data/event_type"), occurred: clock{Pointer: "/data/payload/created_at"},
		}.of(d)
	}
	var rules []eventRule
	for _, name := range memberNames(root) {
		switch {
		case strings.HasSuffix(name, "_events"):
			rules = append(rules, xList(name))
		case name == "user_event", name == "replay_job_status":
			rules = append(rules, facts{id: hashed(fixed(name), at("/"+name)), kind: fixed(name)}.of)
		}
	}
	if rules == nil {
		return nil, &EventError{Message: "the body has neither /data nor a list of events (tweet_create_events, ...)"}
	}
	return allOf(rules...)(d)
}

// xList is the rule of a list of the Account Activity API. The same post is an
// event of each subscribed user it concerns.
func xList(name string) eventRule {
	user := at("/for_user_id").up(1)
	item := facts{kind: fixed(name), occurred: clock{Pointer: "/created_timestamp", unit: milliseconds}}
	switch name {
	case "tweet_create_events":
		item.id = composite(fixed(name), user, at("/id_str"))
		item.occurred.Pointer = "/timestamp_ms"
	case "favorite_events":
		item.id = composite(fixed(name), user, at("/id"))
		item.occurred.Pointer = "/timestamp_ms"
	case "direct_message_events":
		item.id = composite(fixed(name), user, at("/id"))
	default:
		item.id = hashedSome([]field{fixed(name), at("")}, user)
	}
	return each("/"+name, item.of)
}

// memberNames lists the names of an object's members in order, each once.
func memberNames(root gjson.Result) []string {
	if !root.IsObject() {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	root.ForEach(func(key, _ gjson.Result) bool {
		name := unquote(key.Raw)
		if !seen[name] && !strings.ContainsAny(name, "~/") { // which a pointer would have to escape
			names = append(names, name)
		}
		seen[name] = true
		return true
	})
	return names
}

func sampleX(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "post.create")
	user := object{"id": 6253282, "id_str": "6253282", "name": "X API", "screen_name": "XAPI"}
	item := object{
		"id": cmp.Or(id, freshID("")), "created_timestamp": strconv.FormatInt(now.UnixMilli(), 10), "type": strings.TrimSuffix(eventType, "_events"),
		"source": user, "target": user,
	}
	switch {
	case eventType == "tweet_create_events":
		item["id_str"], item["text"], item["user"] = item["id"], "Hello from Hooklatch", user
		item["timestamp_ms"] = item["created_timestamp"]
	case !strings.HasSuffix(eventType, "_events"):
		return sampleJSON(object{"data": object{
			"filter": object{"user_id": "6253282"}, "event_uuid": item["id"], "event_type": eventType, "tag": "demo",
			"payload": object{"id": "1346889436626259968", "text": "Hello from Hooklatch", "created_at": now.UTC().Format(time.RFC3339)},
		}})
	}
	return sampleJSON(object{"for_user_id": "2244994945", eventType: []object{item}})
}
