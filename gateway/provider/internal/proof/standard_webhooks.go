package proof

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// WebhookNames and svixNames are the two families of headers of the scheme.
func WebhookNames() HeaderNames {
	return HeaderNames{Signature: "Webhook-Signature", Timestamp: "Webhook-Timestamp", Id: "Webhook-Id"}
}

func SvixNames() HeaderNames {
	return HeaderNames{Signature: "Svix-Signature", Timestamp: "Svix-Timestamp", Id: "Svix-Id"}
}

// StandardScheme declares the scheme of the specification for some families of
// headers, the one to sign with first.
func StandardScheme(key KeySpelling, tolerance time.Duration, headers ...HeaderNames) *Scheme {
	return &Scheme{
		Headers:   headers,
		Pairs:     &Pairs{Separator: " ", Assign: ",", Signature: "v1"},
		Hash:      sha256.New,
		Encoding:  Base64,
		Template:  Template{InID, ".", InTimestamp, ".", InBody},
		Secret:    key,
		Unit:      Seconds,
		Tolerance: tolerance,
	}
}

const whsecPrefix = "whsec_"

// StandardSecret is how the specification spells a key.
func StandardSecret() KeySpelling { return KeySpelling{Encoding: Base64, Prefix: whsecPrefix} }

// StandardWebhooks makes the provider for some families of headers. Senders of
// the family with a name of their own change what differs.
func StandardWebhooks(o provider.Options, headers ...HeaderNames) (*provider.Provider, error) {
	spelling, err := OneOf("secret_encoding", o.SecretEncoding, string(Base64), string(Base64), string(Raw))
	if err != nil {
		return nil, err
	}
	kind, fallback, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	occurred := Clock{Pointer: "/timestamp"}
	if o.OccurredAt != (provider.Clock{}) {
		if err := validateClock("occurred_at", o.OccurredAt); err != nil {
			return nil, err
		}
		occurred = clockOf(o.OccurredAt)
	}
	key := StandardSecret()
	if spelling == string(Raw) {
		key = KeySpelling{Encoding: Raw}
	}
	s := StandardScheme(key, Tolerance(o, StandardTolerance), headers...)
	return &provider.Provider{
		Name:  "standard-webhooks",
		Title: "Standard Webhooks",
		About: provider.About{
			Confirmed: provider.Confirmed,
			Signing: "HMAC-SHA256 over `id.time.body`, in base64, as `v1` of `webhook-signature`, with `webhook-id` and `webhook-timestamp`; " +
				"or the same with `svix-`. The secret is base64 behind `whsec_`; `secret_encoding: raw` takes it as it stands.",
			KeyRule: "The header `webhook-id` (or `svix-id`), which is signed and the same for every retry.",
			Setup: []string{
				"Give the sender {url} as the URL of an endpoint.",
				"Copy the signing secret of that endpoint (`whsec_...`).",
			},
			Notes: []string{
				"Many senders use this scheme; those with a name of their own in this list have their own windows.",
				"Some senders do not decode their own secret. If all signatures are wrong, try `secret_encoding: raw`.",
				"Senders that keep messages for long can replay them for longer than the floor: raise the retention for those.",
			},
			Backfill: "The sender's own, where it has one.",
			Docs:     "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
		},
		Verify: s.Verify,
		Events: func(r *provider.Request) ([]provider.Event, error) {
			// The id of the family whose signature was verified.
			id := Verbatim(Field{Header: s.Names(r.Header).Id})
			return Facts{Id: id, Kind: kind, Fallback: fallback, Occurred: occurred, NeedJSON: true}.Events(r)
		},
		Methods:     []string{http.MethodPost},
		CheckSecret: s.Secret.Check,
		Sign:        s.Sign,
		Sample: func(eventType, id string, now time.Time) *provider.Request {
			d := newDraft()
			d.put(At("/data"), Object{"id": "user_1", "email": "ada@example.com", "name": "Ada Lovelace"})
			d.put(At("/timestamp"), now.UTC().Format(time.RFC3339Nano))
			d.put(At("/type"), cmp.Or(eventType, "user.created"))
			d.put(kind, cmp.Or(eventType, "user.created"))
			d.put(InHeader(headers[0].Id), cmp.Or(id, FreshID("msg_")))
			d.putTime(occurred, now)
			return d.request()
		},
		ReplayToken: s.ReplayToken,
		Deadline:    15 * time.Second,
		RetryWindow: 75*time.Hour + 35*time.Minute, // the longest schedule of the specification; senders differ
	}, nil
}
