package sender

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

var errTelegramSecret = errors.New("a secret_token is 8 to 256 characters of A-Z, a-z, 0-9, _ and -")

// Telegram declares a bot's updates. They are not signed but carry the secret token that was
// given to setWebhook. Source: core.telegram.org/bots/api, "setWebhook", "Update".
func Telegram(provider.Options) (*provider.Provider, error) {
	t := &proof.StaticToken{Header: http.CanonicalHeaderKey("X-Telegram-Bot-Api-Secret-Token")}
	return &provider.Provider{
		Name:           "telegram",
		Title:          "Telegram",
		HeaderFamilies: []string{"X-Telegram-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "Nothing is signed. The header `X-Telegram-Bot-Api-Secret-Token` carries the secret itself; it is never stored or logged.",
			KeyRule: "`/update_id` of the body, which is unique within one bot: use one source for each bot.",
			Setup: []string{
				"Choose a secret of 8 to 256 characters of A-Z, a-z, 0-9, _ and -. It is the secret of the source.",
				"Call `setWebhook` with {url} as `url` and the secret as `secret_token`.",
			},
			Notes: []string{
				"Anyone who sees one request can forge any other: use TLS on the whole path.",
				"After a week without updates the next `update_id` is random: rely neither on its order nor on gaps.",
				"Up to `max_connections` (40) updates arrive at the same time, in any order.",
				"Telegram keeps updates for 24 hours. Unconfirmed: it waits about 60 s for a response.",
				"Hooklatch's response is empty: Telegram would run a method call in the response, but the result would be lost.",
			},
			Backfill: "`getWebhookInfo` says how many updates are pending. `getUpdates` works only while no webhook is set.",
			Docs:     "https://core.telegram.org/bots/api#setwebhook",
		},
		Verify:    t.Verify,
		Challenge: proof.ChallengeOf(t.Header, ""),
		Events:    telegramEvents,
		Answer:    func(*provider.Request) *provider.Answer { return &provider.Answer{Status: http.StatusOK} },
		CheckSecret: func(s secret.Value) error {
			text := s.Reveal()
			odd := strings.ContainsFunc(text, func(c rune) bool {
				return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
			})
			if odd || len(text) > 256 {
				return errTelegramSecret
			}
			return t.Check(s)
		},
		Sign:          t.Sign,
		Sample:        sampleTelegram,
		SecretHeaders: []string{t.Header},
		RetryWindow:   proof.Day,
	}, nil
}

const telegramID = "update_id"

// telegramEvents reads an update. Besides its id, an update has one member, whose name is the
// type.
func telegramEvents(r *provider.Request) ([]provider.Event, error) {
	d := &proof.Document{R: r}
	root, err := d.JSON()
	if err != nil {
		return nil, err
	}
	kind := ""
	if root.IsObject() {
		root.ForEach(func(key, _ gjson.Result) bool {
			if name := key.Str; name != telegramID && (kind == "" || name < kind) {
				kind = name
			}
			return true
		})
	}
	named := kind
	if kind == "" || !proof.Clean(kind) {
		named = proof.UnknownType
	}
	events, err := proof.Facts{ID: proof.Verbatim(proof.At("/" + telegramID)), Kind: proof.Fixed(named)}.Of(d)
	if err != nil {
		return nil, err
	}
	for _, member := range []string{"/edit_date", "/date"} {
		if c := (proof.Clock{Pointer: "/" + proof.EscapePointer.Replace(kind) + member, Unit: proof.Seconds}); events[0].OccurredAt.IsZero() {
			events[0].OccurredAt = c.Time(d)
		}
	}
	return events, nil
}

func sampleTelegram(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "message")
	user := proof.Object{"id": 1111111, "is_bot": false, "first_name": "Ada", "username": "ada"}
	message := proof.Object{
		"message_id": 1365, "date": now.Unix(), "text": "Hello from Hooklatch", "from": user,
		"chat": proof.Object{"id": 1111111, "type": "private", "first_name": "Ada", "username": "ada"},
	}
	update := proof.Object{eventType: message}
	switch eventType {
	case "edited_message":
		message["edit_date"] = now.Unix()
	case "callback_query":
		update[eventType] = proof.Object{"id": "4382bfdwdsb323b2d9", "from": user, "message": message, "data": "approve"}
	}
	update[telegramID] = id // replaced below by a number if id is a number or empty
	if _, err := strconv.ParseInt(id, 10, 64); err == nil {
		update[telegramID] = json.Number(id)
	}
	if id == "" {
		update[telegramID] = rand.Int64N(1 << 31) //nolint:gosec // a sample, no secret
	}
	return proof.SampleJSON(update)
}
