package sender

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/twilioforms"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const twilioSignature = "X-Twilio-Signature"

// twilioSecret reads the auth token, or a shared key, as Twilio shows it.
var twilioSecret = proof.KeySpelling{Encoding: proof.Raw}

// Twilio declares Twilio's webhooks. Twilio signs the public URL followed by a form's fields. For
// any other body, the URL's query contains the body's hash. Source:
// twilio.com/docs/usage/webhooks/webhooks-security, /docs/usage/webhooks/webhook-shared-keys and
// /docs/events/event-delivery-and-duplication; twilio-node src/webhooks/webhooks.ts.
func Twilio(provider.Options) (*provider.Provider, error) {
	return &provider.Provider{
		Name:           "twilio",
		Title:          "Twilio",
		HeaderFamilies: []string{"I-Twilio-*", "X-Twilio-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Others,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA1 over the URL and the sorted fields of the form, in base64, in `X-Twilio-Signature`. With a shared key, it is " +
				"HMAC-SHA256 if the header `" + twilioforms.Settings + "` says so. For other bodies, the URL has their SHA-256 in " +
				"`bodySHA256`. Hooklatch tries all spellings of the URL that Twilio uses.",
			KeyRule: "The id of the resource together with the fields that change between callbacks: `MessageSid` and `MessageStatus`, " +
				"`CallSid`, `CallStatus` and `SequenceNumber`, and so on. Event Streams: `id` of the CloudEvent. Other callbacks " +
				"(TaskRouter, partial results of speech, answering machine detection, media streams, the debugger, bundles): the header " +
				"`I-Twilio-Idempotency-Token`, or a hash of the fields.",
			Setup: []string{
				"Open Twilio Console > Account > API keys & tokens: the auth token of the account that owns the number is the secret of " +
					"the source.",
				"If a webhook rule signs with a shared key, add the secret of that key to the secrets of the source.",
				"Set {url} as the status callback, or as the webhook of the number, the service or the sink.",
			},
			Notes: []string{
				"The URL is signed: `public_url` of the source, or `gateway.public_url` followed by /webhooks/ and its name, must be exactly the URL that Twilio calls, even behind a proxy.",
				"Callbacks by GET are also accepted. The query of their URL is stored as the body, a form.",
				"Every status of a message has the same `MessageSid`, which alone is therefore not an event id.",
				"Requests for TwiML (each step of a call) are answered with an empty response and not stored.",
				"Twilio retries a callback only within 15 seconds; after that, the callback is lost. Event Streams retry an event for up to four hours.",
			},
			Backfill: "`GET /2010-04-01/Accounts/{sid}/Messages.json` and `/Calls.json` return the current state, not the callbacks.",
			Docs:     "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
		},
		Verify:  verifyTwilio,
		Content: twilioforms.Content,
		Methods: []string{http.MethodGet, http.MethodPost},
		Events:  twilioforms.Events,
		// Twilio expects TwiML after a message or a call; an empty document does nothing.
		Answer: func(*provider.Request) *provider.Answer {
			return &provider.Answer{Status: http.StatusOK, ContentType: "text/xml", Body: []byte("<Response/>")}
		},
		CheckSecret: twilioSecret.Check,
		Sign:        signTwilio,
		Sample:      sampleTwilio,
		SignsURL:    true,
		UnsignedID:  true, // some keys contain the token, which is not signed
		ReplayToken: twilioReplayToken,
		Retry:       proof.RetrySigns{Token: proof.InHeader(twilioforms.Token)}.Of,
		Deadline:    15 * time.Second,
		RetryWindow: 4 * time.Hour, // for Event Streams; all retries of other callbacks happen within the deadline
	}, nil
}

func verifyTwilio(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (provider.Verified, error) {
	header, err := proof.TheHeader(r.Header, twilioSignature, provider.ReasonMissingSignature)
	if err != nil {
		return provider.Verified{}, err
	}
	for _, name := range []string{twilioforms.Token, twilioforms.Settings, "Content-Type"} {
		if len(r.Header[http.CanonicalHeaderKey(name)]) > 1 {
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonDuplicateHeader, Detail: name}
		}
	}
	signature, err := proof.Base64.Decode(header)
	if err != nil {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want <base64>"}
	}
	if r.URL == nil {
		return provider.Verified{}, proof.ErrNoURL
	}
	newHash, err := twilioforms.Hash(r.Header)
	if err != nil {
		return provider.Verified{}, err
	}
	params, err := twilioforms.Signed(r)
	if err != nil {
		return provider.Verified{}, err
	}
	urls := twilioforms.URLs(r.URL)
	index, err := twilioSecret.Match(secrets, [][]byte{signature}, func(key []byte) [][]byte {
		return twilioforms.MACs(newHash, key, params, urls...)
	})
	return provider.Verified{SecretIndex: index}, err
}

// twilioReplayToken identifies the signed URL together with the signed fields, or with the body
// whose hash is signed.
func twilioReplayToken(r *provider.Request) string {
	if r.URL == nil || len(r.Header[twilioSignature]) == 0 {
		return ""
	}
	params, err := twilioforms.Signed(r)
	if err != nil {
		return ""
	}
	if params == nil {
		params = r.Body
	}
	return proof.HashOf(twilioforms.URLs(r.URL)[0], string(params))
}

// signTwilio signs r for its URL. If the body is neither empty nor a form, signTwilio replaces
// r.URL with a URL whose query contains the body's hash. The caller must send the request to the
// new URL.
func signTwilio(r *provider.Request, key secret.Value, _ time.Time) error {
	k, err := twilioSecret.Key(key)
	if err != nil {
		return err
	}
	if r.URL == nil {
		return proof.ErrNoURL
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	u := *r.URL
	pairs := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return pair == "" || payload.Unescape(name) == twilioforms.BodyHash
	})
	if len(r.Body) > 0 && !proof.IsForm(r) {
		sum := sha256.Sum256(r.Body)
		pairs = append(pairs, twilioforms.BodyHash+"="+hex.EncodeToString(sum[:]))
	}
	u.RawQuery = strings.Join(pairs, "&")
	r.URL = &u
	newHash, err := twilioforms.Hash(r.Header)
	if err != nil {
		return err
	}
	params, err := twilioforms.Signed(r)
	if err != nil {
		return err
	}
	r.Header.Set(twilioSignature, proof.Base64.Encode(twilioforms.MACs(newHash, k, params, u.String())[0]))
	return nil
}

func sampleTwilio(eventType, id string, now time.Time) *provider.Request {
	name, status, ok := strings.Cut(cmp.Or(eventType, "message.delivered"), ".")
	if !ok {
		name, status = "message", name
	}
	sid := func(prefix string) string { return cmp.Or(id, proof.FreshID(prefix)) }
	form := url.Values{"AccountSid": {"AC00000000000000000000000000000000"}, "ApiVersion": {"2010-04-01"}}
	set := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
	}
	switch name {
	case "call":
		set("CallSid", sid("CA"), "CallStatus", status, "CallbackSource", "call-progress-events", "SequenceNumber", "0",
			"Timestamp", now.UTC().Format(time.RFC1123Z), "Direction", "outbound-api", "From", "+15005550006", "To", "+18005551212")
	case "recording":
		set("RecordingSid", sid("RE"), "RecordingStatus", status, "CallSid", proof.FreshID("CA"), "RecordingDuration", "42")
	case "transcription":
		set("TranscriptionSid", sid("TR"), "TranscriptionStatus", status, "RecordingSid", proof.FreshID("RE"))
	case "conference":
		set("ConferenceSid", sid("CF"), "StatusCallbackEvent", status, "SequenceNumber", "1", "FriendlyName", "demo")
	case "room":
		set("RoomSid", sid("RM"), "StatusCallbackEvent", status, "SequenceNumber", "1", "RoomName", "demo")
	case "conversation":
		set("EventType", status, "ConversationSid", proof.FreshID("CH"), "MessageSid", sid("IM"), "DateCreated", now.UTC().Format(time.RFC3339))
	default:
		message := sid("SM")
		set("MessageSid", message, "SmsSid", message, "SmsStatus", status, "From", "+15005550006", "To", "+18005551212")
		if status == "received" {
			set("Body", "Hello from Hooklatch", "NumMedia", "0")
		} else {
			set("MessageStatus", status)
		}
	}
	return proof.Sample([]byte(form.Encode()), proof.FormType, twilioforms.Token, proof.FreshID(""))
}
