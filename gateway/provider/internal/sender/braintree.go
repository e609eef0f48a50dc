package sender

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	braintreeSignature = "bt_signature"
	braintreePayload   = "bt_payload"
	braintreeChallenge = "bt_challenge"
)

var (
	errBraintreeKeys = errors.New("the secret is not public_key:private_key")
	errBraintreeForm = errors.New("only a form with " + braintreePayload + " can contain the signature")
)

// braintreeDigits matches a challenge and never a payload: the response to an unknown sender's
// challenge must not be a payload's signature.
var braintreeDigits = regexp.MustCompile(`^[0-9a-f]{20,32}$`)

// Braintree declares Braintree's webhooks: a form with a base64 XML payload and its
// signatures, each after its public key. A source's secret contains both keys. Source:
// developer.paypal.com/braintree/docs/guides/webhooks; braintree/braintree_node,
// webhook_notification_gateway.
func Braintree(provider.Options) (*provider.Provider, error) {
	return &provider.Provider{
		Name:      "braintree",
		Title:     "Braintree",
		About:     aboutBraintree(),
		Verify:    verifyBraintree,
		Events:    braintreeEvents,
		Handshake: braintreeHandshake,
		Methods:   []string{http.MethodPost, http.MethodGet},
		CheckSecret: func(s secret.Value) error {
			if _, err := braintreeKeysOf(s); err != nil {
				return err
			}
			return proof.CheckPassword(s)
		},
		Sign:        signBraintree,
		Sample:      sampleBraintree,
		Deadline:    30 * time.Second,
		RetryWindow: proof.Day,
	}, nil
}

func aboutBraintree() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.SDK,
			EventID:     provider.Nobody,
			Handshake:   provider.Documentation | provider.Vector,
			RetryWindow: provider.Others,
			Resend:      provider.Nobody,
		},
		Signing: "HMAC-SHA1 of the payload, keyed with the hash of the private key, in the form field bt_signature after the public key.",
		KeyRule: "Braintree sends no event id. Hooklatch builds one from kind, timestamp and the id of the subject, or a hash of the subject if it has no id.",
		Setup: []string{
			"Open Settings, API in the Control Panel. The secret of the source is the public and the private key with a colon between them: public_key:private_key.",
			"While Hooklatch runs, open Settings, Webhooks, create a webhook with the destination URL {url}, and select the " +
				"notifications. Braintree checks the URL with a challenge, which Hooklatch answers.",
		},
		Notes: []string{
			"In the sandbox, Braintree retries for only 3 hours.",
			"Notifications of one kind about one subject in the same second are one event.",
		},
		Docs: "https://developer.paypal.com/braintree/docs/guides/webhooks/overview",
	}
}

// braintreeKeys is a parsed secret: the public key, and the signing key derived from the private
// key.
type braintreeKeys struct {
	public string
	key    []byte
}

func braintreeKeysOf(s secret.Value) (braintreeKeys, error) {
	if s.IsZero() {
		return braintreeKeys{}, proof.ErrEmptySecret
	}
	public, private, ok := strings.Cut(s.Reveal(), ":")
	if !ok || public == "" || private == "" {
		return braintreeKeys{}, errBraintreeKeys
	}
	key := sha1.Sum([]byte(private))
	return braintreeKeys{public: public, key: key[:]}, nil
}

func (k braintreeKeys) mac(payload string) []byte {
	mac := hmac.New(sha1.New, k.key)
	mac.Write([]byte(payload))
	return mac.Sum(nil)
}

func (k braintreeKeys) sign(payload string) string {
	return k.public + "|" + proof.Hex.Encode(k.mac(payload))
}

func braintreeHandshake(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (*provider.Answer, error) {
	if r.Method != http.MethodGet || r.URL == nil {
		return nil, nil
	}
	query := payload.ParseForm(r.URL.RawQuery)
	if !query.Has(braintreeChallenge) {
		return nil, nil
	}
	challenge := query.Get(braintreeChallenge)
	if !braintreeDigits.MatchString(challenge) {
		return nil, &provider.EventError{Unreadable: true, Message: braintreeChallenge + " in the URL is not a challenge"}
	}
	if len(secrets) == 0 {
		return nil, proof.ErrNoSecret
	}
	keys, err := braintreeKeysOf(secrets[0])
	if err != nil {
		return nil, err
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(keys.sign(challenge))}, nil
}

func verifyBraintree(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (provider.Verified, error) {
	if !proof.IsForm(r) {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "the body is not a form"}
	}
	form, err := proof.SomeFields(r.Body, braintreeSignature, braintreePayload)
	if err != nil {
		return provider.Verified{}, err
	}
	for _, name := range []string{braintreeSignature, braintreePayload} {
		switch {
		case len(form[name]) > 1:
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "more than one " + name}
		case form.Get(name) == "":
			return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "no " + name}
		}
	}
	signatures, err := braintreeSignatures(form.Get(braintreeSignature))
	if err != nil {
		return provider.Verified{}, err
	}
	if len(secrets) == 0 {
		return provider.Verified{}, proof.ErrNoSecret
	}
	matched, known := -1, false
	var unusable error
	for i, s := range secrets {
		keys, err := braintreeKeysOf(s)
		if err != nil {
			unusable = err
			continue
		}
		given, ok := signatures[keys.public]
		known = known || ok
		payload := form.Get(braintreePayload)
		for _, signed := range []string{payload, payload + "\n"} { // a form may lose the last line break
			if hmac.Equal(keys.mac(signed), given) && matched < 0 {
				matched = i
			}
		}
	}
	switch {
	case matched >= 0:
		return provider.Verified{SecretIndex: matched}, nil
	case unusable != nil:
		return provider.Verified{}, unusable
	case !known:
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonUnknownKey, Detail: "signed with another public key"}
	}
	return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
}

// braintreeSignatures reads public_key|hex pairs separated by &.
func braintreeSignatures(text string) (map[string][]byte, error) {
	signatures := map[string][]byte{}
	for pair := range strings.SplitSeq(text, "&") {
		public, digits, ok := strings.Cut(pair, "|")
		signature, err := proof.Hex.Decode(digits)
		if !ok || public == "" || err != nil || len(signature) == 0 || signatures[public] != nil {
			return nil, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want <public key>|<hex>"}
		}
		signatures[public] = signature
	}
	return signatures, nil
}

// braintreeNotification is the XML in a payload.
type braintreeNotification struct {
	XMLName   xml.Name `xml:"notification"`
	Kind      string   `xml:"kind"`
	Timestamp string   `xml:"timestamp"`
	Subject   struct {
		Inner string `xml:",innerxml"`
		About []struct {
			XMLName xml.Name
			ID      string `xml:"id"`
		} `xml:",any"`
	} `xml:"subject"`
}

func braintreeEvents(r *provider.Request) ([]provider.Event, error) {
	payload, err := proof.InForm(braintreePayload).Find(&proof.Document{R: r})
	if err != nil {
		return nil, err
	}
	text, err := base64.StdEncoding.DecodeString(payload) // skips line breaks
	if err != nil {
		return nil, &provider.EventError{Unreadable: true, Message: braintreePayload + " is not base64"}
	}
	var n braintreeNotification
	if err := xml.Unmarshal(text, &n); err != nil {
		return nil, &provider.EventError{Unreadable: true, Message: braintreePayload + " is not the XML of a notification"}
	}
	usable := func(s string) bool { return s != "" && proof.Clean(s) && len(s) <= proof.MaxText }
	event := provider.Event{ID: proof.HashOf(string(text)), Type: proof.UnknownType}
	if usable(n.Kind) {
		event.Type = n.Kind
	}
	if !usable(n.Kind) || !usable(n.Timestamp) {
		return []provider.Event{event}, nil
	}
	event.ID = proof.Join(n.Kind, n.Timestamp, proof.HashOf(n.Subject.Inner))
	if about := n.Subject.About; len(about) == 1 && about[0].ID != "" && proof.Clean(about[0].ID) {
		event.ID = proof.Join(n.Kind, n.Timestamp, about[0].XMLName.Local, about[0].ID)
	}
	if t, err := time.Parse(time.RFC3339, n.Timestamp); err == nil {
		event.OccurredAt = t.UTC()
	}
	return []provider.Event{event}, nil
}

func signBraintree(r *provider.Request, key secret.Value, _ time.Time) error {
	keys, err := braintreeKeysOf(key)
	if err != nil {
		return err
	}
	form := payload.ParseForm(string(r.Body))
	if !proof.IsForm(r) || form.Get(braintreePayload) == "" {
		return errBraintreeForm
	}
	form.Set(braintreeSignature, keys.sign(form.Get(braintreePayload)))
	r.Body = []byte(form.Encode())
	return nil
}

func sampleBraintree(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "subscription_charged_successfully")
	subject, _, _ := strings.Cut(eventType, "_")
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(cmp.Or(id, proof.FreshID("")))) // writing to a strings.Builder never fails
	text := `<?xml version="1.0" encoding="UTF-8"?><notification><kind>` + eventType + `</kind><timestamp type="datetime">` +
		now.UTC().Format(time.RFC3339) + `</timestamp><subject><` + subject + `><id>` + escaped.String() + `</id><price>42.00</price>` +
		`<status>Active</status></` + subject + `></subject></notification>`
	if subject == "subscription" { // the SDKs read these lists even when they are empty
		text = strings.Replace(text, "<status>", `<transactions type="array"/><add-ons type="array"/><discounts type="array"/><status>`, 1)
	}
	payload := base64.StdEncoding.EncodeToString([]byte(text)) + "\n"
	return proof.Sample([]byte(url.Values{braintreePayload: {payload}}.Encode()), proof.FormType)
}
