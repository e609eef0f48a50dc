package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// slack knows the Events API, interactivity and slash commands: one way to
// sign, three kinds of body.
// Source: docs.slack.dev, "Verifying requests from Slack", "Events API".
type slack struct{ scheme scheme }

func newSlack(o Options) (*Provider, error) {
	s := &slack{scheme: scheme{
		headers:   []headerNames{{signature: "X-Slack-Signature", timestamp: slackTimestamp}},
		prefix:    "v0=",
		hash:      sha256.New,
		encoding:  hexDigits,
		template:  template{"v0:", inTimestamp, ":", inBody},
		secret:    keySpelling{encoding: rawBytes},
		unit:      seconds,
		tolerance: tolerance(o, standardTolerance),
		single:    []string{"Content-Type"},
	}}
	return &Provider{
		Name:  "slack",
		Title: "Slack",
		About: About{
			Confirmed: Unconfirmed, // delayed events, and that trigger ids are unique
			Signing:   "HMAC-SHA256 over `v0:time:body`, in hex behind `v0=`, in `X-Slack-Signature`, with `X-Slack-Request-Timestamp`.",
			KeyRule: "`event_id` of the Events API, which is in the signed body. Interactions and slash commands: `trigger_id`, or the hash of time " +
				"and body; Slack never repeats them.",
			Setup: []string{
				"api.slack.com/apps > your app > Basic Information > App Credentials: the signing secret.",
				"Event Subscriptions: request URL {url}; Slack checks it at once (the gateway must run) and you choose the events.",
				"Interactivity and slash commands may have the same URL.",
			},
			Notes: []string{
				"Never drop a request because it says it is a retry: the first try may be the one that failed.",
				"`app_rate_limited` is answered and not stored: it has no id.",
				"Slack waits 3 seconds. When most deliveries of an hour fail, it turns the subscription off.",
			},
			Docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
		},
		Verify:    s.scheme.verify,
		Events:    s.events,
		Handshake: s.handshake,
		Methods:   []string{http.MethodPost},
		// The answer to a command or an interaction is shown to the person
		// who made it, so it is empty.
		Answer:      func(*Request) *Answer { return &Answer{Status: http.StatusOK} },
		CheckSecret: s.scheme.secret.check,
		Sign:        s.scheme.sign,
		Sample:      sampleSlack,
		ReplayToken: s.scheme.replayToken,
		Retry:       retrySigns{number: inHeader("X-Slack-Retry-Num"), reason: inHeader("X-Slack-Retry-Reason")}.of,
		Deadline:    3 * time.Second,
		RetryWindow: day, // three within minutes, hourly for a day with "delayed events"
	}, nil
}

const slackTimestamp = "X-Slack-Request-Timestamp"

// handshake answers url_verification, which is signed like everything else.
func (s *slack) handshake(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (*Answer, error) {
	if isForm(r) || glance(r.Body, "type") != "url_verification" {
		return nil, nil
	}
	if _, err := s.scheme.verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	challenge, err := at("/challenge").text(&document{r: r})
	if err != nil {
		return nil, err
	}
	return &Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(challenge)}, nil
}

func (s *slack) events(r *Request) ([]Event, error) {
	d := &document{r: r, payload: "payload"}
	if isForm(r) {
		return s.interaction(d)
	}
	outer, err := at("/type").text(d)
	if err != nil {
		return nil, err
	}
	switch outer {
	case "app_rate_limited", "url_verification": // about the subscription, and without an id
		return nil, nil
	case "event_callback":
		return facts{
			id: verbatim(at("/event_id")), kind: at("/event/type"), detail: at("/event/subtype"),
			occurred: clock{Pointer: "/event_time", unit: seconds},
		}.of(d)
	}
	return facts{id: verbatim(at("/event_id")), kind: at("/type")}.of(d)
}

// interaction reads the form of a slash command, or of an interaction, which
// carries JSON in its field payload.
func (s *slack) interaction(d *document) ([]Event, error) {
	fields, err := d.form()
	if err != nil {
		return nil, err
	}
	switch {
	case fields.Has("payload"):
		return facts{id: slackTrigger(at("/trigger_id")), kind: at("/type"), needJSON: true}.of(d)
	case fields.Has("command"):
		return facts{id: slackTrigger(inForm("trigger_id")), kind: inForm("command")}.of(d)
	case fields.Get("ssl_check") == "1": // Slack looks at our certificate
		return nil, nil
	}
	return nil, &EventError{Message: "the form has neither payload nor command"}
}

// slackTrigger takes the trigger id where there is one. Slack never repeats
// interactions, so without it the signed time and content are the event.
func slackTrigger(trigger field) keyRule {
	return func(d *document) (string, error) {
		if id := trigger.optional(d); id != "" {
			return id, nil
		}
		content := sha256.Sum256(d.r.Body)
		return hashOf(d.r.Header.Get(slackTimestamp), hex.EncodeToString(content[:])), nil
	}
}

func sampleSlack(eventType, id string, now time.Time) *Request {
	kind, subtype, _ := strings.Cut(cmp.Or(eventType, "message"), ".")
	event := object{
		"type": kind, "channel": "C123ABC456", "channel_type": "channel", "user": "U123ABC456",
		"text": "Hello from Hooklatch", "ts": fmt.Sprintf("%d.000200", now.Unix()),
	}
	if subtype != "" {
		event["subtype"] = subtype
	}
	return sampleJSON(object{
		"type": "event_callback", "event_id": cmp.Or(id, freshID("Ev")), "event_time": now.Unix(),
		"token": "deprecated", "team_id": "T123ABC456", "api_app_id": "A123ABC456", "event_context": "EC123ABC456",
		"event":          event,
		"authorizations": []object{{"team_id": "T123ABC456", "user_id": "U123ABC456", "is_bot": false}},
	})
}
