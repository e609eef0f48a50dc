package sender

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/url"
	"strconv"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type mailgun struct{ tolerance time.Duration }

// mailgunParent is the field with the signature of the primary account. Only events of a
// subaccount have it, so that a receiver needs no key of the subaccount.
const mailgunParent = "parent-signature"

var mailgunSecret = proof.KeySpelling{Encoding: proof.Raw}

// mailgunTolerance exceeds Mailgun's retry window. Mailgun does not document whether a retry gets
// a new time.
const mailgunTolerance = proof.Day

// Limits for the fields that are read from a multipart form.
const (
	maxMailgunFields = 1000
	maxMailgunField  = 8 << 10 // bytes
)

// maxMailgunJSON is the maximum length of a JSON body, in bytes. Mailgun's webhooks are shorter.
// Only forwarded email, which is a form, may be as long as MaxBody.
const maxMailgunJSON = 1 << 20

// Mailgun declares Mailgun's webhooks (JSON) and the email that its routes forward (forms). Each
// body carries a signature over a time and a token; the rest of the body is not signed. Source:
// documentation.mailgun.com, "Securing Webhooks"; mailgun-go, webhooks.go.
func Mailgun(o provider.Options) (*provider.Provider, error) {
	m := &mailgun{tolerance: proof.Tolerance(o, mailgunTolerance)}
	return &provider.Provider{
		Name:        "mailgun",
		Title:       "Mailgun",
		About:       aboutMailgun(),
		Verify:      m.verify,
		Events:      mailgunEvents,
		CheckSecret: mailgunSecret.Check,
		Sign:        signMailgun,
		Sample:      sampleMailgun,
		UnsignedID:  true,
		ReplayToken: func(r *provider.Request) string {
			given, err := mailgunProofOf(r)
			if err != nil {
				return ""
			}
			return given.signed()
		},
		OtherBodies: "multipart forms (multipart/form-data)",
		MaxBody:     35 << 20, // email forwarded by routes: 25 MB, in base64
		MaxForm:     75 << 20, // the same email, escaped
		RetryWindow: 8 * time.Hour,
	}, nil
}

func aboutMailgun() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.SDK,
			EventID:     provider.Documentation,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: "HMAC-SHA256 of a time and a random token, in the body next to them. The event itself is not signed: anyone who saw one delivery " +
			"can send any event with its signature.",
		KeyRule: "event-data.id, which is unique only within a day, and event-data.timestamp. Mail forwarded by a route: recipient and Message-Id, " +
			"or a hash of the fields if it has no Message-Id. Webhooks of the older format, which are forms: a hash of the fields. " +
			"The token is not part of the key.",
		Setup: []string{
			"Open Sending, Webhooks in Mailgun and add a webhook with the URL {url} for each type of event. For inbound mail, use " +
				"forward(\"{url}\") in a route.",
			"Use the HTTP webhook signing key (Settings, API security) as the secret of the source. Events of subaccounts are accepted under the " +
				"key of the subaccount and under the key of the primary account.",
		},
		Notes: []string{
			"The replay guard holds another event that arrives with a known signature until an operator decides; `replay_guard: refuse` answers it with 401.",
			"Mailgun treats 200 as success and 406 as a request not to retry; it retries after any other status.",
			"It is unconfirmed whether a retry carries a new time and token. The tolerance is therefore a day by default, and the token " +
				"is not the event id.",
			"The author of the mail chooses Message-Id.",
			proof.KeyHasMore,
		},
		Backfill: "GET /v3/{domain}/events?begin=&end= lists events. Mailgun keeps them for 1 to 30 days, depending on the plan " +
			"(unconfirmed).",
		Docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
	}
}

// mailgunProof holds the signed text and its signatures. The field parent is empty unless the event
// belongs to a subaccount.
type mailgunProof struct{ timestamp, token, signature, parent string }

// signed returns the complete signed text, which is also the replay token. Mailgun's token alone
// would not be enough: a digit can be moved from that token to the time without a change of the
// signed text.
func (p mailgunProof) signed() string { return p.timestamp + p.token }

func (p mailgunProof) mac(key []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(p.signed()))
	return mac.Sum(nil)
}

func (m *mailgun) verify(_ context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	given, err := mailgunProofOf(r)
	if err != nil {
		return provider.Verified{}, err
	}
	texts := []string{given.signature}
	if given.parent != "" {
		texts = append(texts, given.parent)
	}
	signatures := make([][]byte, len(texts))
	for i, text := range texts {
		signatures[i], err = proof.Hex.Decode(text)
		if err != nil {
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want <hex>"}
		}
	}
	signedAt, err := proof.Seconds.Parse(given.timestamp)
	if err != nil {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMalformedTimestamp, Detail: "unit is s"}
	}
	index, err := mailgunSecret.Match(secrets, signatures, func(key []byte) [][]byte { return [][]byte{given.mac(key)} })
	if err != nil {
		return provider.Verified{}, err
	}
	return provider.Verified{SecretIndex: index, SignedAt: signedAt}, proof.Within(signedAt, now, m.tolerance)
}

// mailgunProofOf reads the signature from a body of any kind. Errors: *VerifyError.
func mailgunProofOf(r *provider.Request) (mailgunProof, error) {
	fields, err := mailgunFields(r)
	if refused, ok := errors.AsType[*provider.VerifyError](err); ok {
		return mailgunProof{}, refused
	}
	if err != nil {
		return mailgunProof{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "the body cannot be read"}
	}
	var given mailgunProof
	for _, f := range []struct {
		name    string
		into    *string
		missing provider.Reason // "" if the field is optional
	}{
		{"signature", &given.signature, provider.ReasonMissingSignature},
		{"timestamp", &given.timestamp, provider.ReasonMissingTimestamp},
		{"token", &given.token, provider.ReasonMissingToken},
		{mailgunParent, &given.parent, ""},
	} {
		values := fields[f.name]
		switch {
		case len(values) > 1:
			return given, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "more than one " + f.name}
		case len(values) == 1 && values[0] != "":
			*f.into = values[0]
		case f.missing != "":
			return given, &provider.VerifyError{Reason: f.missing, Detail: "no " + f.name}
		}
	}
	return given, nil
}

// mailgunFields returns the signature's fields.
func mailgunFields(r *provider.Request) (url.Values, error) {
	if proof.IsForm(r) {
		return proof.SomeFields(r.Body, "signature", "timestamp", "token", mailgunParent)
	}
	if form, ok, err := mailgunForm(r); err != nil || ok {
		return form, err
	}
	if len(r.Body) > maxMailgunJSON {
		return nil, proof.TooMany("bytes of JSON")
	}
	fields := url.Values{}
	w := &proof.Walk{Text: r.Body}
	err := w.Members(func(name string) error {
		if name != "signature" {
			return nil
		}
		clear(fields) // if the name repeats, its last value counts
		return w.Members(func(name string) error {
			raw, err := w.Value()
			if err == nil && len(raw) <= proof.MaxProof && json.Valid(raw) {
				if text, ok := proof.Scalar(gjson.ParseBytes(raw)); ok {
					fields[name] = []string{text}
				}
			}
			return err
		})
	})
	return fields, err
}

// mailgunForm reads the fields of forwarded email or of a webhook of the older format. It returns
// false if the body is not a form.
func mailgunForm(r *provider.Request) (url.Values, bool, error) {
	if proof.IsForm(r) {
		fields, err := (&proof.Document{R: r}).Form()
		return fields, true, err
	}
	if boundary, ok := payload.BoundaryOf(r.Header.Get("Content-Type"), r.Body); ok {
		fields, err := multipartFields(r.Body, boundary)
		return fields, true, err
	}
	return nil, false, nil // the body may be JSON, whatever its content type says
}

// multipartFields reads the short fields of a multipart form, without files.
func multipartFields(body []byte, boundary string) (url.Values, error) {
	unreadable := &provider.EventError{Unreadable: true, Message: "the body is not a multipart form"}
	fields := url.Values{}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && bytes.Contains(body, []byte("--"+boundary+"--")) { // otherwise the body was cut short
			return fields, nil
		}
		if err != nil || n == maxMailgunFields {
			return nil, unreadable
		}
		if part.FileName() != "" {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, maxMailgunField+1))
		if err != nil {
			return nil, unreadable
		}
		if len(text) <= maxMailgunField {
			fields.Add(part.FormName(), string(text))
		}
	}
}

func mailgunEvents(r *provider.Request) ([]provider.Event, error) {
	form, ok, err := mailgunForm(r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return proof.Facts{
			ID: mailgunKey, Kind: proof.At("/event-data/event"), Occurred: proof.Clock{Pointer: "/event-data/timestamp", Unit: proof.Seconds},
		}.Of(&proof.Document{R: r})
	}
	if form.Has("event") { // a webhook of the older format, which has no id and repeats the mail's Message-Id
		return proof.Facts{ID: proof.WholeForm("token", "signature", mailgunParent), Kind: proof.InForm("event")}.Of(&proof.Document{R: r, Fields: form})
	}
	id := proof.Composite(proof.InForm("recipient").IfAny(), proof.InForm("Message-Id"))
	if form.Get("Message-Id") == "" {
		id = proof.WholeForm("timestamp", "token", "signature", mailgunParent)
	}
	return proof.Facts{ID: id, Kind: proof.Fixed("inbound")}.Of(&proof.Document{R: r, Fields: form})
}

// mailgunKey combines an event's id with its time: Mailgun promises only that an id is unique
// within a day.
func mailgunKey(d *proof.Document) (string, error) {
	id, err := proof.At("/event-data/id").Text(d)
	if err != nil {
		return "", err
	}
	at, err := d.At("/event-data/timestamp")
	if err != nil {
		return "", err
	}
	switch {
	case !at.Exists():
		return proof.Join(id), nil
	case at.Type != gjson.Number:
		return proof.Join(id, at.String()), nil
	}
	return proof.Join(id, strconv.FormatFloat(at.Num, 'f', -1, 64)), nil
}

var errMailgunBody = errors.New("only a JSON object or a form can contain the signature")

// signMailgun puts a new signature into the body.
func signMailgun(r *provider.Request, key secret.Value, now time.Time) error {
	k, err := mailgunSecret.Key(key)
	if err != nil {
		return err
	}
	given := mailgunProof{timestamp: proof.Seconds.Format(now), token: proof.FreshID("")}
	given.signature = proof.Hex.Encode(given.mac(k))
	if proof.IsForm(r) {
		form := payload.ParseForm(string(r.Body))
		form.Set("timestamp", given.timestamp)
		form.Set("token", given.token)
		form.Set("signature", given.signature)
		form.Del(mailgunParent)
		r.Body = []byte(form.Encode())
		return nil
	}
	root, err := proof.ParseJSON(r.Body)
	if err != nil || !root.IsObject() {
		return errMailgunBody
	}
	r.Body, err = sjson.SetBytes(r.Body, "signature", map[string]string{
		"timestamp": given.timestamp, "token": given.token, "signature": given.signature,
	})
	return err
}

func sampleMailgun(eventType, id string, now time.Time) *provider.Request {
	if eventType == "inbound" {
		return proof.Sample([]byte(url.Values{
			"recipient": {"support@hooklatch.example.com"}, "sender": {"jon@example.com"}, "subject": {"Hello"},
			"body-plain": {"Where is my order?"}, "Message-Id": {"<" + cmp.Or(id, proof.FreshID("")) + "@example.com>"},
		}.Encode()), proof.FormType)
	}
	return proof.SampleJSON(proof.Object{
		"event-data": proof.Object{
			"id": cmp.Or(id, proof.FreshID("")), "event": cmp.Or(eventType, "delivered"), "timestamp": float64(now.UnixMilli()) / 1000,
			"recipient": "jon@example.com", "log-level": "info", "tags": []string{"receipt"}, "user-variables": proof.Object{},
			"message":         proof.Object{"headers": proof.Object{"message-id": proof.FreshID("") + "@hooklatch.example.com", "subject": "Your receipt"}},
			"delivery-status": proof.Object{"code": 250, "message": "OK", "attempt-no": 1},
		},
	})
}
