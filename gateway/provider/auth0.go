package provider

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// auth0 knows event streams, which send one CloudEvent in a request, and log
// streams, which send lists. Both carry a fixed header.
// Source: github.com/auth0/docs-v2, customize/events and customize/log-streams.
type auth0 struct{ token staticToken }

func newAuth0(Options) (*Provider, error) {
	a := &auth0{token: staticToken{header: authorization, prefix: bearer}}
	return &Provider{
		Name:  "auth0",
		Title: "Auth0",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "Nothing is signed. The header Authorization carries the secret itself, as a bearer token, as basic authentication " +
				"or bare; it is never stored or logged.",
			KeyRule: "Event streams: `/id` of the CloudEvent (evt_...). Log streams: `log_id` of each entry.",
			Setup: []string{
				"Events: Dashboard, Event Streams, Create: type Webhook, endpoint {url}, authorization Bearer with a long random token (or " +
					"basic: then user:password). It is the secret of the source.",
				"Logs: Dashboard, Monitoring, Streams, Create, Custom Webhook: payload URL {url}, content format JSON Array, authorization " +
					"token the same way.",
			},
			Notes: []string{
				"Whoever sees one request can make any other: it needs TLS all the way.",
				"After 1, 2 and 4 s Auth0 gives up, and never repeats what was answered 4xx. Streams that keep failing are switched off.",
				"No order.",
				"JSON Lines cannot be taken, unless there is one line in a request: choose JSON Array.",
				"Unconfirmed: the fields of log streams, and that failed events can be sent again for 7 days.",
			},
			Backfill: "GET /api/v2/event-streams/{id}/deliveries lists what failed, POST .../redeliver sends it again; GET /api/v2/logs for logs.",
			Docs:     "https://auth0.com/docs/customize/events",
		},
		Verify:        a.verify,
		Events:        auth0Events,
		Methods:       []string{http.MethodPost},
		CheckSecret:   a.token.check,
		Sign:          a.token.sign,
		Sample:        sampleAuth0,
		SecretHeaders: []string{authorization},
		RetryWindow:   7 * time.Second,
		ResendWindow:  7 * day,
	}, nil
}

// verify takes the secret in the spelling the stream is set to: behind Bearer,
// in base64 behind Basic, or as it is.
func (a *auth0) verify(_ context.Context, r *Request, secrets []secret.Value, _ time.Time) (Verified, error) {
	token, err := theHeader(r.Header, authorization, ReasonMissingToken)
	if err != nil {
		return Verified{}, err
	}
	if text, ok := strings.CutPrefix(token, "Basic "); ok {
		decoded, err := base64Std.decode(text)
		if err != nil {
			return Verified{}, &VerifyError{Reason: ReasonMalformedToken, Detail: "want Basic <base64>"}
		}
		token = string(decoded)
	}
	index, err := a.token.match(secrets, strings.TrimPrefix(token, bearer))
	return Verified{SecretIndex: index}, err
}

func auth0Events(r *Request) ([]Event, error) {
	d := &document{r: r}
	root, err := d.json()
	if err != nil {
		return nil, err
	}
	log := facts{id: verbatim(at("/log_id")), kind: at("/data/type"), fallback: fixed("log"), occurred: clock{Pointer: "/data/date"}}
	switch {
	case root.IsArray():
		return each("", log.of)(d)
	case lookup(root, "/logs").IsArray():
		return each("/logs", log.of)(d)
	case lookup(root, "/log_id").Exists():
		return log.of(d)
	}
	return facts{
		id: verbatim(at("/id")), kind: at("/type"), version: at("/specversion"), occurred: clock{Pointer: "/time"},
	}.of(d)
}

func sampleAuth0(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "user.created")
	at := now.UTC().Format(time.RFC3339Nano)
	if !strings.Contains(eventType, ".") { // the codes of log entries
		return sampleJSON([]object{{
			"log_id": cmp.Or(id, freshID("")), "data": object{
				"date": at, "type": eventType, "client_id": "8k0m1z", "client_name": "demo", "ip": "192.0.2.7", "user_id": "auth0|507f1f77",
			},
		}})
	}
	return sampleJSON(object{
		"id": cmp.Or(id, freshID("evt_")), "source": "urn:auth0:demo.eu.auth0.com", "specversion": "1.0", "type": eventType, "time": at,
		"a0tenant": "demo", "a0stream": "est_1234", "data": object{"object": object{
			"user_id": "auth0|507f1f77", "email": "ada@example.com", "name": "Ada Lovelace", "created_at": at, "updated_at": at,
		}},
	})
}
