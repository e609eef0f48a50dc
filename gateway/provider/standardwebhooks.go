package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"time"
)

// newStandardWebhooks knows every sender of the Standard Webhooks
// specification, and of Svix, where it comes from: Clerk, Resend, OpenAI, ...
// Source: github.com/standard-webhooks/standard-webhooks, spec and libraries.
func newStandardWebhooks(o Options) (*Provider, error) {
	spelling, err := oneOf("secret_encoding", o.SecretEncoding, string(base64Std), string(base64Std), string(rawBytes))
	if err != nil {
		return nil, err
	}
	kind, fallback, err := o.kind()
	if err != nil {
		return nil, err
	}
	occurred := Clock{Pointer: "/timestamp"}
	if o.OccurredAt != (Clock{}) {
		if err := o.OccurredAt.validate("occurred_at"); err != nil {
			return nil, err
		}
		occurred = o.OccurredAt
	}
	key := keySpelling{encoding: base64Std, prefix: "whsec_"}
	if spelling == string(rawBytes) {
		key = keySpelling{encoding: rawBytes}
	}
	s := &scheme{
		headers: []headerNames{
			{signature: "Webhook-Signature", timestamp: "Webhook-Timestamp", id: "Webhook-Id"},
			{signature: "Svix-Signature", timestamp: "Svix-Timestamp", id: "Svix-Id"},
		},
		pairs:     &pairs{separator: " ", assign: ",", signature: "v1"},
		hash:      sha256.New,
		encoding:  base64Std,
		template:  template{inID, ".", inTimestamp, ".", inBody},
		secret:    key,
		unit:      seconds,
		tolerance: o.tolerance(standardTolerance),
	}
	return &Provider{
		Name:   "standard-webhooks",
		Title:  "Standard Webhooks",
		Verify: s.verify,
		Events: func(r *Request) ([]Event, error) {
			// The id of the family whose signature was verified.
			id := verbatim(Field{Header: s.names(r.Header).id})
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
			d.put(inHeader("Webhook-Id"), cmp.Or(id, freshID("msg_")))
			d.putTime(occurred, now)
			return d.request()
		},
		Deadline:    15 * time.Second,
		RetryWindow: 75*time.Hour + 35*time.Minute, // the longest schedule of the specification; senders differ
	}, nil
}
