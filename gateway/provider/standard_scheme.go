package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"time"
)

// webhookNames and svixNames are the two families of headers of the scheme.
func webhookNames() headerNames {
	return headerNames{signature: "Webhook-Signature", timestamp: "Webhook-Timestamp", id: "Webhook-Id"}
}

func svixNames() headerNames {
	return headerNames{signature: "Svix-Signature", timestamp: "Svix-Timestamp", id: "Svix-Id"}
}

// standardScheme declares the scheme of the specification for some families of
// headers, the one to sign with first.
func standardScheme(key keySpelling, tolerance time.Duration, headers ...headerNames) *scheme {
	return &scheme{
		headers:   headers,
		pairs:     &pairs{separator: " ", assign: ",", signature: "v1"},
		hash:      sha256.New,
		encoding:  base64Std,
		template:  template{inID, ".", inTimestamp, ".", inBody},
		secret:    key,
		unit:      seconds,
		tolerance: tolerance,
	}
}

const whsecPrefix = "whsec_"

// standardSecret is how the specification spells a key.
func standardSecret() keySpelling { return keySpelling{encoding: base64Std, prefix: whsecPrefix} }

// standardWebhooks makes the provider for some families of headers. Senders of
// the family with a name of their own change what differs.
func standardWebhooks(o Options, headers ...headerNames) (*Provider, error) {
	spelling, err := oneOf("secret_encoding", o.SecretEncoding, string(base64Std), string(base64Std), string(rawBytes))
	if err != nil {
		return nil, err
	}
	kind, fallback, err := kindOf(o)
	if err != nil {
		return nil, err
	}
	occurred := clock{Pointer: "/timestamp"}
	if o.OccurredAt != (Clock{}) {
		if err := validateClock("occurred_at", o.OccurredAt); err != nil {
			return nil, err
		}
		occurred = clockOf(o.OccurredAt)
	}
	key := standardSecret()
	if spelling == string(rawBytes) {
		key = keySpelling{encoding: rawBytes}
	}
	s := standardScheme(key, tolerance(o, standardTolerance), headers...)
	return &Provider{
		Name:  "standard-webhooks",
		Title: "Standard Webhooks",
		About: About{
			Confirmed: Confirmed,
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
		Verify: s.verify,
		Events: func(r *Request) ([]Event, error) {
			// The id of the family whose signature was verified.
			id := verbatim(field{Header: s.names(r.Header).id})
			return facts{id: id, kind: kind, fallback: fallback, occurred: occurred, needJSON: true}.events(r)
		},
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample: func(eventType, id string, now time.Time) *Request {
			d := newDraft()
			d.put(at("/data"), object{"id": "user_1", "email": "ada@example.com", "name": "Ada Lovelace"})
			d.put(at("/timestamp"), now.UTC().Format(time.RFC3339Nano))
			d.put(at("/type"), cmp.Or(eventType, "user.created"))
			d.put(kind, cmp.Or(eventType, "user.created"))
			d.put(inHeader(headers[0].id), cmp.Or(id, freshID("msg_")))
			d.putTime(occurred, now)
			return d.request()
		},
		ReplayToken: s.replayToken,
		Deadline:    15 * time.Second,
		RetryWindow: 75*time.Hour + 35*time.Minute, // the longest schedule of the specification; senders differ
	}, nil
}
