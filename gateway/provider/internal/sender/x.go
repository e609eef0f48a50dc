package sender

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

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type x struct{ scheme proof.Scheme }

// X declares X's three kinds of webhooks. The Activity API sends one event per delivery. Its
// predecessor, the Account Activity API, sends lists of events. A filtered stream sends one post
// per delivery. Source: docs.x.com/x-api/webhooks/introduction, /x-api/activity,
// /x-api/account-activity, /x-api/webhooks/stream/quickstart.
func X(provider.Options) (*provider.Provider, error) {
	x := &x{scheme: proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: "X-Twitter-Webhooks-Signature"}},
		Prefix:   "sha256=",
		Hash:     sha256.New,
		Encoding: proof.Base64,
		Template: proof.Template{proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Raw},
	}}
	return &provider.Provider{
		Name:           "x",
		Title:          "X",
		HeaderFamilies: []string{"X-Twitter-Webhooks-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.Documentation,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in base64 after sha256=, in the header x-twitter-webhooks-signature. No time is signed.",
			KeyRule: "/data/event_uuid (Activity API). A post of a filtered stream: post and /data/id. For the lists of the Account Activity API: the name of the list, the subscribed " +
				"user and the id of the item. Items without an id (follows, blocks, ...): a hash of the item instead of its id.",
			Setup: []string{
				"Open the app in the developer portal, Keys and tokens: the API key secret (consumer secret) is the secret of the source.",
				"Create the webhook: POST https://api.x.com/2/webhooks with the URL {url}. X checks it immediately, and Hooklatch " +
					"answers: configure the source first.",
			},
			Notes: []string{
				"X checks the URL again about every hour, with GET and crc_token. A wrong response stops the webhook immediately. While " +
					"secrets are rotated, Hooklatch answers with the first secret of the source.",
				"The URL may not contain a port.",
				"Hooklatch signs its response to a check with the key that also signs events. It signs a token only if the token cannot be an event, so that an attacker cannot get an event signed.",
				"Unconfirmed: X retries a delivery within a day. The types of lists other than posts, likes and messages are also " +
					"unconfirmed. Events can be replayed on request for five days.",
			},
			Backfill: "POST /2/account_activity/replay/webhooks/{id}/subscriptions/all starts a replay job.",
			Docs:     "https://docs.x.com/x-api/webhooks/introduction",
		},
		Verify:      x.scheme.Verify,
		Events:      x.events,
		Handshake:   x.check,
		Methods:     []string{http.MethodPost, http.MethodGet},
		CheckSecret: x.scheme.Secret.Check,
		Sign:        x.scheme.Sign,
		Sample:      sampleX,
		Deadline:    10 * time.Second,
		RetryWindow: proof.Day, ResendWindow: 5 * proof.Day,
	}, nil
}

// check answers the challenge-response check, which is not signed. Its response contains the
// token's signature. If the token were an event, the response would contain that event's
// signature. A token is therefore accepted only if it cannot be a JSON object.
func (x *x) check(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (*provider.Answer, error) {
	if r.Method != http.MethodGet || r.URL == nil {
		return nil, nil
	}
	query := payload.ParseForm(r.URL.RawQuery)
	if !query.Has("crc_token") {
		return nil, nil
	}
	token := query.Get("crc_token")
	if token == "" || len(token) > proof.MaxEcho || strings.ContainsFunc(token, notInToken) {
		return nil, &provider.EventError{Unreadable: true, Message: "crc_token in the URL is not a token"}
	}
	if len(secrets) == 0 {
		return nil, proof.ErrNoSecret
	}
	key, err := x.scheme.Secret.Key(secrets[0])
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token))
	body, err := json.Marshal(proof.Object{"response_token": "sha256=" + proof.Base64.Encode(mac.Sum(nil))})
	if err != nil {
		return nil, err
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: proof.JSONType, Body: body}, nil
}

func notInToken(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("-_.~+/=", c)
}

func (x *x) events(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	root, err := d.JSON()
	if err != nil {
		return nil, err
	}
	switch {
	case proof.Lookup(root, "/data/event_uuid").Exists(), proof.Lookup(root, "/data/event_type").Exists():
		return proof.Facts{
			ID: proof.Verbatim(proof.At("/data/event_uuid")), Kind: proof.At("/data/event_type"), Occurred: proof.Clock{Pointer: "/data/payload/created_at"},
		}.Of(d)
	case proof.Lookup(root, "/data/id").Exists(): // a post of a filtered stream; an edited post has a new id
		return proof.Facts{
			ID: proof.OrWhole(proof.Composite(proof.Fixed("post"), proof.At("/data/id"))), Kind: proof.Fixed("post"), Occurred: proof.Clock{Pointer: "/data/created_at"},
		}.Of(d)
	}
	var rules []proof.EventRule
	for _, name := range memberNames(root) {
		switch {
		case strings.HasSuffix(name, "_events") && proof.Lookup(root, "/"+name).IsArray():
			rules = append(rules, xList(name))
		case name == "user_event", name == "replay_job_status":
			rules = append(rules, proof.Facts{ID: proof.Hashed(proof.Fixed(name), proof.At("/"+name)), Kind: proof.Fixed(name)}.Of)
		}
	}
	switch {
	case rules == nil && !root.IsObject():
		return nil, &provider.EventError{Message: "the body is not a JSON object"}
	case rules == nil: // an unknown kind
		return proof.Facts{ID: proof.Whole(), Kind: proof.Fixed(proof.UnknownType)}.Of(d)
	}
	return proof.AllOf(rules...)(d)
}

// xList returns the rule for a list in the Account Activity API. The same post is a separate
// event for each subscribed user it concerns.
func xList(name string) proof.EventRule {
	user := proof.At("/for_user_id").Up(1)
	item := proof.Facts{Kind: proof.Fixed(name), Occurred: proof.Clock{Pointer: "/created_timestamp", Unit: proof.Milliseconds}}
	switch name {
	case "tweet_create_events":
		item.ID = proof.OrWhole(proof.Composite(proof.Fixed(name), user.IfAny(), proof.At("/id_str")))
		item.Occurred.Pointer = "/timestamp_ms"
	case "favorite_events":
		item.ID = proof.OrWhole(proof.Composite(proof.Fixed(name), user.IfAny(), proof.At("/id")))
		item.Occurred.Pointer = "/timestamp_ms"
	case "direct_message_events":
		item.ID = proof.OrWhole(proof.Composite(proof.Fixed(name), user.IfAny(), proof.At("/id")))
	default:
		item.ID = proof.HashedSome([]proof.Field{proof.Fixed(name), proof.At("")}, user)
	}
	return proof.Each("/"+name, item.Of)
}

// memberNames lists an object's member names in order, without repetition. It omits names with ~ or
// /.
func memberNames(root gjson.Result) []string {
	if !root.IsObject() {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	root.ForEach(func(key, _ gjson.Result) bool {
		name := proof.Unquote(key.Raw)
		if !seen[name] && !strings.ContainsAny(name, "~/") { // a pointer would have to escape these characters
			names = append(names, name)
		}
		seen[name] = true
		return true
	})
	return names
}

func sampleX(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "post.create")
	user := proof.Object{"id": 6253282, "id_str": "6253282", "name": "X API", "screen_name": "XAPI"}
	item := proof.Object{
		"id": cmp.Or(id, proof.FreshID("")), "created_timestamp": strconv.FormatInt(now.UnixMilli(), 10), "type": strings.TrimSuffix(eventType, "_events"),
		"source": user, "target": user,
	}
	switch {
	case eventType == "tweet_create_events":
		item["id_str"], item["text"], item["user"] = item["id"], "Hello from Hooklatch", user
		item["timestamp_ms"] = item["created_timestamp"]
	case !strings.HasSuffix(eventType, "_events"):
		return proof.SampleJSON(proof.Object{"data": proof.Object{
			"filter": proof.Object{"user_id": "6253282"}, "event_uuid": item["id"], "event_type": eventType, "tag": "demo",
			"payload": proof.Object{"id": "1346889436626259968", "text": "Hello from Hooklatch", "created_at": now.UTC().Format(time.RFC3339)},
		}})
	}
	return proof.SampleJSON(proof.Object{"for_user_id": "2244994945", eventType: []proof.Object{item}})
}
