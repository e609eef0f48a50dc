package sender

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type discord struct{ scheme proof.Scheme }

// Values of the member type. In a body with the member event, 1 means an event; in an interaction,
// it means a PING.
const (
	discordEventPing    = "0"
	discordPing         = "1"
	discordCommand      = "2"
	discordComponent    = "3"
	discordAutocomplete = "4"
	discordModal        = "5"
)

// Discord declares interactions and webhook events: they share one signature scheme but have two
// body formats and two kinds of PING. Discord sends invalid signatures on purpose. If an invalid
// signature does not get a 401, Discord removes the URL from the application. Source:
// github.com/discord/discord-api-docs, developers/interactions and
// developers/events/webhook-events.mdx.
func Discord(o provider.Options) (*provider.Provider, error) {
	d := &discord{scheme: proof.Scheme{
		Headers:   []proof.HeaderNames{{Signature: "X-Signature-Ed25519", Timestamp: "X-Signature-Timestamp"}},
		Encoding:  proof.Hex,
		Template:  proof.Template{proof.InTimestamp, proof.InBody}, // unambiguous: digits, then a body that begins with a brace
		Public:    proof.Ed25519Keys(proof.KeySpelling{Encoding: proof.Hex}),
		Unit:      proof.Seconds,
		Tolerance: proof.Tolerance(o, 0),
	}}
	return &provider.Provider{
		Name:           "discord",
		Title:          "Discord",
		HeaderFamilies: []string{"X-Signature-Ed25519", "X-Signature-Timestamp"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.Documentation,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "Ed25519 over the time followed by the body, in hex in the header `X-Signature-Ed25519`. The time is in " +
				"`X-Signature-Timestamp`. Discord publishes no tolerance, so by default Hooklatch does not check the age of a request.",
			KeyRule: "Interactions: `/id` of the body. Webhook events, which have no id: a hash of `/application_id`, `/event/type`, " +
				"`/event/timestamp` and `/event/data`.",
			Setup: []string{
				"Open the application in the Developer Portal, General Information: the public key (64 hex digits) is the secret of the " +
					"source.",
				"Start the gateway first: Discord checks the URL when you save it.",
				"For commands and components, set Interactions Endpoint URL to {url}. For events, open Webhooks, set Endpoint URL to " +
					"{url}, switch on Events, and choose the events.",
			},
			Notes: []string{
				"An interaction must be answered within 3 s. Hooklatch answers it as deferred. The application then has 15 minutes to " +
					"send the real answer, with the token in the stored body.",
				"Autocompletion needs its choices in the response: Hooklatch answers with an empty list and stores nothing.",
				"Discord never resends interactions. It retries events for 10 minutes, then sends an email, and may stop sending events.",
				"To send samples, set the secret to the private key followed by the public key, 128 hex digits in all.",
			},
			Docs: "https://docs.discord.com/developers/events/webhook-events",
		},
		Verify:      d.scheme.Verify,
		Events:      d.events,
		Handshake:   d.handshake,
		Answer:      discordAnswer,
		CheckSecret: d.scheme.CheckSecret,
		Sign:        d.scheme.Sign,
		Sample:      sampleDiscord,
		ReplayToken: d.scheme.ReplayToken,
		Deadline:    3 * time.Second,
		RetryWindow: 10 * time.Minute,
	}, nil
}

// handshake answers both kinds of PING, which are signed like all other requests.
func (d *discord) handshake(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (*provider.Answer, error) {
	var answer *provider.Answer
	switch body := gjson.ParseBytes(jsonpointer.WithoutMark(r.Body)); body.Get("type").Raw {
	case discordEventPing:
		answer = &provider.Answer{Status: http.StatusNoContent}
	case discordPing:
		if body.Get("event").Exists() {
			return nil, nil
		}
		answer = &provider.Answer{Status: http.StatusOK, ContentType: proof.JSONType, Body: []byte(`{"type":1}`)}
	default:
		return nil, nil
	}
	if _, err := d.scheme.Verify(ctx, r, secrets, now); err != nil {
		return nil, err
	}
	return answer, nil
}

// discordAnswer defers the response to an interaction. Autocompletion gets an empty list of
// choices. An event gets a response without a body.
func discordAnswer(r *provider.Request) *provider.Answer {
	var deferred string
	switch gjson.GetBytes(jsonpointer.WithoutMark(r.Body), "type").Raw {
	case discordCommand, discordModal:
		deferred = `{"type":5}`
	case discordComponent:
		deferred = `{"type":6}`
	case discordAutocomplete:
		deferred = `{"type":8,"data":{"choices":[]}}`
	default:
		return &provider.Answer{Status: http.StatusNoContent}
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: proof.JSONType, Body: []byte(deferred)}
}

func (d *discord) events(r *provider.Request) ([]provider.Event, error) {
	doc := &proof.Document{R: r}
	kind := proof.At("/type").Optional(doc)
	names := map[string]string{discordCommand: "application_command", discordComponent: "message_component", discordModal: "modal_submit"}
	event, err := doc.At("/event")
	switch {
	case err != nil:
		return nil, err
	case kind == discordAutocomplete:
		return nil, nil
	case !event.Exists():
		return discordInteraction(doc, cmp.Or(names[kind], kind, proof.UnknownType))
	}
	events, err := proof.Facts{
		ID: proof.HashedSome(
			[]proof.Field{proof.At("/application_id").IfAny(), proof.At("/event/type").IfAny(), proof.At("/event/timestamp").IfAny()},
			proof.At("/event/data"),
		),
		Kind: proof.At("/event/type"),
	}.Of(doc)
	if err != nil {
		return nil, err
	}
	events[0].OccurredAt = discordTime(proof.At("/event/timestamp").Optional(doc))
	return events, nil
}

func discordInteraction(d *proof.Document, kind string) ([]provider.Event, error) {
	events, err := proof.Facts{ID: proof.Verbatim(proof.At("/id")), Kind: proof.Fixed("interaction." + kind), Detail: proof.At("/data/name")}.Of(d)
	if err != nil {
		return nil, err
	}
	events[0].OccurredAt = discordTime(events[0].ID)
	return events, nil
}

// discordEpoch is the start of snowflake time, in Unix milliseconds.
const discordEpoch = 1420070400000

// discordTime reads a time in RFC 3339, a time in UTC without a zone, or the time inside a
// snowflake. It returns the zero time for any other text.
func discordTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 {
			return t.UTC()
		}
	}
	if id, err := strconv.ParseUint(s, 10, 63); err == nil && id>>22 > 0 {
		return time.UnixMilli(int64(id>>22) + discordEpoch).UTC()
	}
	return time.Time{}
}

func sampleDiscord(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "APPLICATION_AUTHORIZED")
	user := proof.Object{"id": "283939475829302", "username": "ada", "discriminator": "0", "global_name": "Ada"}
	if rest, ok := strings.CutPrefix(eventType, "interaction."); ok {
		return sampleDiscordInteraction(rest, id, user, now)
	}
	return proof.SampleJSON(proof.Object{
		"version": 1, "application_id": "1234560123453231555", "type": 1,
		"event": proof.Object{
			"type": eventType, "timestamp": now.UTC().Format("2006-01-02T15:04:05.000000"),
			"data": proof.Object{"integration_type": 1, "scopes": []string{"applications.commands"}, "user": user, "sample": cmp.Or(id, proof.FreshID(""))},
		},
	})
}

func sampleDiscordInteraction(rest, id string, user proof.Object, now time.Time) *provider.Request {
	kind, name, _ := strings.Cut(rest, ".")
	number, data := 2, proof.Object{"id": "771825006014889984", "type": 1, "name": cmp.Or(name, "deploy")}
	switch kind {
	case "message_component":
		number, data = 3, proof.Object{"custom_id": "approve", "component_type": 2}
	case "modal_submit":
		number, data = 5, proof.Object{"custom_id": "report", "components": []proof.Object{}}
	}
	snowflake := strconv.FormatInt((now.UnixMilli()-discordEpoch)<<22, 10)
	return proof.SampleJSON(proof.Object{
		"version": 1, "id": cmp.Or(id, snowflake), "application_id": "1234560123453231555", "type": number, "token": proof.FreshID(""),
		"data": data, "user": user, "channel_id": "645027906669510667", "locale": "en-US",
	})
}
