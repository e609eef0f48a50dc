package sender

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type slack struct{ scheme proof.Scheme }

// Slack declares the Events API, interactivity and slash commands: one signature scheme for
// three body formats. Source: docs.slack.dev, "Verifying requests from Slack", "Events API".
func Slack(o provider.Options) (*provider.Provider, error) {
	s := &slack{scheme: proof.Scheme{
		Headers:   []proof.HeaderNames{{Signature: slackSignature, Timestamp: slackTimestamp}},
		Prefix:    "v0=",
		Hash:      sha256.New,
		Encoding:  proof.Hex,
		Template:  proof.Template{"v0:", proof.InTimestamp, ":", proof.InBody},
		Secret:    proof.KeySpelling{Encoding: proof.Raw},
		Unit:      proof.Seconds,
		Tolerance: proof.Tolerance(o, proof.StandardTolerance),
		Single:    []string{"Content-Type"},
	}}
	return &provider.Provider{
		Name:           "slack",
		Title:          "Slack",
		HeaderFamilies: []string{"X-Slack-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.Documentation,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over `v0:time:body`, in hex after `v0=`, in `X-Slack-Signature`, with `X-Slack-Request-Timestamp`.",
			KeyRule: "`event_id` of the Events API, which is in the signed body. Interactions, slash commands and other forms: `trigger_id`, or a " +
				"hash of time and body, because Slack never repeats these requests.",
			Setup: []string{
				"Open api.slack.com/apps > your app > Basic Information > App Credentials: the signing secret is the secret of the " +
					"source.",
				"Under Event Subscriptions, enter the request URL {url}. Slack checks it immediately, so the gateway must be running. " +
					"Then choose the events.",
				"Interactivity and slash commands may use the same URL. Slack checks its certificate with a request that is not signed: " +
					"Hooklatch answers it and stores nothing.",
			},
			Notes: []string{
				"Never drop a request because it is marked as a retry: the first attempt may have failed.",
				"`app_rate_limited` has no id: Hooklatch answers it and stores nothing.",
				"Slack waits 3 seconds. When most deliveries of an hour fail, it turns the subscription off.",
			},
			Docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
		},
		Verify:    s.scheme.Verify,
		Events:    s.events,
		Handshake: s.handshake,
		// Slack would show any text in the response to the user who sent the command or the
		// interaction.
		Answer:      func(*provider.Request) *provider.Answer { return &provider.Answer{Status: http.StatusOK} },
		CheckSecret: s.scheme.Secret.Check,
		Sign:        s.scheme.Sign,
		Sample:      sampleSlack,
		ReplayToken: s.scheme.ReplayToken,
		Retry:       proof.RetrySigns{Number: proof.InHeader("X-Slack-Retry-Num"), Reason: proof.InHeader("X-Slack-Retry-Reason")}.Of,
		Deadline:    3 * time.Second,
		RetryWindow: proof.Day, // three retries within minutes, and hourly retries for a day with "delayed events"
	}, nil
}

const (
	slackSignature = "X-Slack-Signature"
	slackTimestamp = "X-Slack-Request-Timestamp"
)

// handshake answers url_verification, which is signed like all events, and the certificate check of
// a slash command's URL, which is not signed.
func (s *slack) handshake(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (*provider.Answer, error) {
	if isCertificateCheck(r) {
		return &provider.Answer{Status: http.StatusOK}, nil
	}
	if proof.IsForm(r) || proof.Glance(r.Body, "type") != "url_verification" {
		return nil, nil
	}
	if _, err := s.scheme.Verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	challenge, err := proof.At("/challenge").Text(&proof.Document{R: r})
	if err != nil {
		return nil, err
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(challenge)}, nil
}

// isCertificateCheck reports whether a request is only a certificate check, which is unsigned. A
// form that also contains an event must be signed, because anyone could have sent the form. Source:
// slackapi/bolt-js, issues 1397 and 2897.
func isCertificateCheck(r *provider.Request) bool {
	if len(r.Header[slackSignature]) > 0 || !proof.IsForm(r) {
		return false
	}
	fields, err := proof.SomeFields(r.Body, "ssl_check", "payload", "command")
	return err == nil && len(fields) == 1 && slices.Equal(fields["ssl_check"], []string{"1"})
}

func (s *slack) events(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r, Payload: "payload"}
	if proof.IsForm(r) {
		return s.interaction(d)
	}
	if _, err := d.JSON(); err != nil {
		return nil, err
	}
	switch proof.At("/type").Optional(d) {
	case "app_rate_limited", "url_verification": // about the subscription, without an id
		return nil, nil
	case "event_callback":
		return proof.Facts{
			ID: proof.Verbatim(proof.At("/event_id")), Kind: proof.At("/event/type"), Detail: proof.At("/event/subtype"),
			Occurred: proof.Clock{Pointer: "/event_time", Unit: proof.Seconds},
		}.Of(d)
	}
	return proof.Facts{ID: slackTrigger(proof.At("/event_id")), Kind: proof.At("/type")}.Of(d)
}

// interaction reads the form of a slash command, or of an interaction, whose field payload contains
// JSON.
func (s *slack) interaction(d *proof.Document) ([]provider.Event, error) {
	fields, err := d.Form()
	if err != nil {
		return nil, err
	}
	switch {
	case fields.Has("payload"):
		return proof.Facts{ID: slackTrigger(proof.At("/trigger_id")), Kind: proof.At("/type"), NeedJSON: true}.Of(d)
	case fields.Has("command"):
		return proof.Facts{ID: slackTrigger(proof.InForm("trigger_id")), Kind: proof.InForm("command")}.Of(d)
	case fields.Get("ssl_check") == "1": // Slack checks our certificate
		return nil, nil
	}
	return proof.Facts{ID: slackTrigger(proof.InForm("trigger_id")), Kind: proof.InForm("type")}.Of(d) // an unknown kind
}

// slackTrigger returns the rule that uses the trigger id if present. Slack never repeats
// interactions, so without the id the signed time and content identify the event.
func slackTrigger(trigger proof.Field) proof.KeyRule {
	return func(d *proof.Document) (string, error) {
		if id := trigger.Optional(d); id != "" {
			return id, nil
		}
		content := sha256.Sum256(d.R.Body)
		return proof.HashOf(d.R.Header.Get(slackTimestamp), hex.EncodeToString(content[:])), nil
	}
}

func sampleSlack(eventType, id string, now time.Time) *provider.Request {
	kind, subtype, _ := strings.Cut(cmp.Or(eventType, "message"), ".")
	event := proof.Object{
		"type": kind, "channel": "C123ABC456", "channel_type": "channel", "user": "U123ABC456",
		"text": "Hello from Hooklatch", "ts": fmt.Sprintf("%d.000200", now.Unix()),
	}
	if subtype != "" {
		event["subtype"] = subtype
	}
	return proof.SampleJSON(proof.Object{
		"type": "event_callback", "event_id": cmp.Or(id, proof.FreshID("Ev")), "event_time": now.Unix(),
		"token": "deprecated", "team_id": "T123ABC456", "api_app_id": "A123ABC456", "event_context": "EC123ABC456",
		"event":          event,
		"authorizations": []proof.Object{{"team_id": "T123ABC456", "user_id": "U123ABC456", "is_bot": false}},
	})
}
