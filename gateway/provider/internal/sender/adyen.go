package sender

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type adyen struct{ platform proof.Scheme }

const (
	adyenItems     = "/notificationItems"
	adyenItem      = "/NotificationRequestItem"
	adyenSignature = adyenItem + "/additionalData/hmacSignature"
)

// adyenSigned returns the JSON pointers to an item's signed fields, in the order in which their
// values are joined with ":". A missing field is signed as an empty string.
func adyenSigned() []string {
	return []string{
		"/pspReference", "/originalReference", "/merchantAccountCode", "/merchantReference", "/amount/value", "/amount/currency",
		"/eventCode", "/success",
	}
}

// Adyen declares two kinds of webhooks. In payment webhooks each item in the body carries a
// signature over some of its fields. In webhooks for platforms, balances and management, a header
// carries a signature over the body. Source: docs.adyen.com/development-resources/webhooks;
// Adyen/adyen-node-api-library, hmacValidator.
func Adyen(provider.Options) (*provider.Provider, error) {
	a := &adyen{platform: proof.Scheme{
		Headers:  []proof.HeaderNames{{Signature: http.CanonicalHeaderKey("HmacSignature")}},
		Hash:     sha256.New,
		Encoding: proof.Base64,
		Template: proof.Template{proof.InBody},
		Secret:   proof.KeySpelling{Encoding: proof.Hex},
	}}
	return &provider.Provider{
		Name:      "adyen",
		Title:     "Adyen",
		About:     aboutAdyen(),
		Verify:    a.verify,
		Events:    proof.EventRule(adyenEvents).Events,
		Handshake: a.handshake,
		// The older API requires this response; the newer API accepts any 2xx.
		Answer:      func(*provider.Request) *provider.Answer { return adyenAccepted() },
		CheckSecret: a.platform.CheckSecret,
		Sign:        a.sign,
		Sample:      sampleAdyen,
		Deadline:    10 * time.Second,
		RetryWindow: 30 * proof.Day,
	}, nil
}

func aboutAdyen() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.Vector | provider.SDK,
			EventID:     provider.Nobody,
			Handshake:   provider.Nobody,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: "Payment webhooks: HMAC-SHA256 of eight fields of each item, in the item's additionalData.hmacSignature. " +
			"Platform, balance and management webhooks: HMAC-SHA256 of the body, in the header HmacSignature.",
		KeyRule: "Payments: merchantAccountCode, pspReference, eventCode and success, or a hash of the signed text if pspReference is " +
			"the name of a report and a signed field contains a colon. Others: type, data.id and data.sequenceNumber, or a hash of type, " +
			"data, eventId, environment and the times if data.id or data.sequenceNumber is missing.",
		Setup: []string{
			"Open Developers, Webhooks in the Customer Area and add a webhook (for example Standard webhook) with the URL {url} and the method JSON.",
			"Under Security, generate an HMAC key and use the hexadecimal text shown there as the secret of the source.",
			"Save, and send a test from the same page.",
		},
		Notes: []string{
			"Only eight fields of a payment are signed. A change of the reason, the time or additionalData in transit goes unnoticed.",
			"Choose JSON: the HTTP POST (form) and SOAP formats are refused.",
			"Adyen may resend an outcome with different unsigned fields. Such a delivery is a duplicate.",
			"A failed webhook delays the webhooks that are queued after it (unconfirmed).",
			"Unconfirmed: eventCode with pspReference identifies an event, and so does data.id with data.sequenceNumber.",
		},
		Backfill: "Failed webhooks can be resent from the Customer Area (unconfirmed).",
		Docs:     "https://docs.adyen.com/development-resources/webhooks",
	}
}

func adyenAccepted() *provider.Answer {
	return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte("[accepted]")}
}

// maxAdyenTest is the maximum size of a delivery without items. maxAdyenItem is the maximum size of
// one item. Both limits are in bytes. The deliveries and items that Adyen sends are smaller.
const (
	maxAdyenTest = 4 << 10
	maxAdyenItem = 64 << 10
)

// handshake answers an unsigned payment webhook whose list of items is empty: it contains nothing
// to sign or store.
func (a *adyen) handshake(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
	if len(r.Header[a.platform.Headers[0].Signature]) > 0 || len(r.Body) > maxAdyenTest {
		return nil, nil
	}
	if items, ok := adyenPayments(r); !ok || len(items) > 0 {
		return nil, nil
	}
	return adyenAccepted(), nil
}

// adyenPayments returns the items of a payment webhook. It returns false for any other body.
// It is only for verified or short bodies.
func adyenPayments(r *provider.Request) ([]gjson.Result, bool) {
	root, err := proof.ParseJSON(r.Body)
	if err != nil {
		return nil, false
	}
	list := proof.Lookup(root, adyenItems)
	return list.Array(), list.IsArray()
}

// verify accepts a payment webhook only if one secret verifies all its items. It stops reading at
// the item that rules out the last secret.
func (a *adyen) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	if len(r.Header[a.platform.Headers[0].Signature]) > 0 {
		return a.platform.Verify(ctx, r, secrets, now)
	}
	able := make([]int, len(secrets)) // indexes of the secrets that verify all items so far
	for i := range secrets {
		able[i] = i
	}
	found, items := false, 0
	w := &proof.Walk{Text: r.Body}
	err := w.Members(func(name string) error {
		if name != adyenItems[1:] {
			return nil
		}
		found = true
		return w.Items(func(i int) error {
			items++
			raw, err := w.Value()
			if err == nil {
				able, err = a.prove(raw, i, secrets, able)
			}
			return err
		})
	})
	switch {
	case !found, errors.Is(err, proof.ErrNoJSON) && items == 0: // not a payment webhook, and the signature header is missing
		return a.platform.Verify(ctx, r, secrets, now)
	case errors.Is(err, proof.ErrNoJSON):
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "the body is not JSON"}
	case err != nil:
		return provider.Verified{}, err
	case items == 0:
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: adyenItems + " is empty"}
	}
	return provider.Verified{SecretIndex: able[0]}, nil
}

// prove tries the secrets at the indexes in able on the item in raw. It returns the indexes of the
// secrets that verify the item, or an error if none does.
func (a *adyen) prove(raw []byte, i int, secrets []secret.Value, able []int) ([]int, error) {
	if len(raw) > maxAdyenItem {
		return nil, &provider.VerifyError{Reason: provider.ReasonTooManyItems, Detail: adyenItems + "/" + strconv.Itoa(i) + " is larger than an item may be"}
	}
	item, err := proof.ParseJSON(raw)
	if err != nil {
		return nil, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "the body is not JSON"}
	}
	signed, err := adyenText(item)
	if err != nil {
		return nil, err
	}
	given, _ := proof.Scalar(proof.Lookup(item, adyenSignature))
	if given == "" {
		return nil, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: adyenItems + "/" + strconv.Itoa(i) + adyenSignature}
	}
	signature, err := proof.Base64.Decode(given)
	if err != nil {
		return nil, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: "want <base64>"}
	}
	if len(able) == 0 {
		return nil, proof.ErrNoSecret
	}
	var still []int
	var unusable error
	for _, index := range able { // try all of them, whatever the result
		_, err := a.platform.Secret.Match(secrets[index:index+1], [][]byte{signature}, func(key []byte) [][]byte {
			return [][]byte{adyenMAC(key, signed)}
		})
		if _, refused := errors.AsType[*provider.VerifyError](err); err != nil && !refused {
			unusable = err
			continue
		}
		if err == nil {
			still = append(still, index)
		}
	}
	switch {
	case len(still) > 0:
		return still, nil
	case unusable != nil:
		return nil, unusable
	}
	return nil, &provider.VerifyError{Reason: provider.ReasonWrongSignature}
}

func adyenMAC(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// adyenText returns an item's signed text. Nothing in it is escaped: a ":" in a field, such as
// in a report's name, looks like a separator.
func adyenText(item gjson.Result) ([]byte, error) {
	fields := make(map[string]gjson.Result, 16) // read once: each search for a member reads all members
	proof.Lookup(item, adyenItem).ForEach(func(key, value gjson.Result) bool {
		fields[key.Str] = value
		return true
	})
	var texts []string
	for _, pointer := range adyenSigned() {
		name, inner, nested := strings.Cut(pointer[1:], "/")
		value := fields[name]
		if nested {
			value = proof.Lookup(value, "/"+inner)
		}
		text, ok := proof.Scalar(value)
		switch {
		case ok || !value.Exists() || value.Type == gjson.Null:
		case value.IsBool():
			text = value.Raw
		default:
			return nil, &provider.VerifyError{Reason: provider.ReasonMalformedID, Detail: pointer + " is neither a string nor an integer"}
		}
		texts = append(texts, text)
	}
	return []byte(strings.Join(texts, ":")), nil
}

func adyenEvents(d *proof.Document) ([]provider.Event, error) {
	root, err := d.JSON()
	if err != nil {
		return nil, err
	}
	if proof.Lookup(root, adyenItems).Exists() {
		return proof.Each(adyenItems, proof.Facts{
			ID: adyenKey, Kind: proof.At(adyenItem + "/eventCode"), Occurred: proof.Clock{Pointer: adyenItem + "/eventDate"},
		}.Of)(d)
	}
	id := proof.HashedSome([]proof.Field{proof.At("/type").IfAny(), proof.At("/data")}, proof.At("/timestamp"), proof.At("/createdAt"), proof.At("/eventId"), proof.At("/environment"))
	if proof.At("/data/id").Optional(d) != "" && proof.At("/data/sequenceNumber").Optional(d) != "" {
		id = proof.Composite(proof.At("/type").IfAny(), proof.At("/data/id"), proof.At("/data/sequenceNumber"))
	}
	occurred := proof.Clock{Pointer: "/timestamp"}
	if occurred.Time(d).IsZero() {
		occurred.Pointer = "/createdAt"
	}
	return proof.Facts{ID: proof.OrWhole(id), Kind: proof.At("/type"), Occurred: occurred}.Of(d)
}

// adyenPlain matches payment references.
var adyenPlain = regexp.MustCompile(`^[0-9A-Za-z]+$`)

// adyenKey builds the key only from the signed text. An item in which text was moved from one
// field to the next therefore has the same key. The key contains the account, because a report's
// reference is its name, which is the same in all merchant accounts.
func adyenKey(d *proof.Document) (string, error) {
	item, err := d.JSON()
	if err != nil {
		return "", err
	}
	if _, err := proof.At(adyenItem + "/pspReference").Text(d); err != nil {
		return "", err
	}
	signed, err := adyenText(item)
	if err != nil {
		return "", &provider.EventError{Message: err.Error()}
	}
	text := string(signed)
	fields, most := strings.Split(text, ":"), len(adyenSigned())
	last := len(fields) - 1
	if !proof.Clean(text) || len(fields) > most && !adyenPlain.MatchString(fields[0]) {
		return proof.HashOf(text), nil
	}
	// Surplus colons are assumed to belong to merchantReference, which is not part of
	// the key.
	return proof.Join(fields[2], fields[0], fields[last-1], fields[last]), nil
}

// sign puts a signature into each item of a payment webhook, and into the header of any other
// delivery.
func (a *adyen) sign(r *provider.Request, key secret.Value, now time.Time) error {
	items, ok := adyenPayments(r)
	if !ok || len(items) == 0 {
		return a.platform.Sign(r, key, now)
	}
	k, err := a.platform.Secret.Key(key)
	if err != nil {
		return err
	}
	delete(r.Header, a.platform.Headers[0].Signature)
	for i, item := range items {
		text, err := adyenText(item)
		if err != nil {
			return err
		}
		path := "notificationItems." + strconv.Itoa(i) + ".NotificationRequestItem.additionalData.hmacSignature"
		if r.Body, err = sjson.SetBytes(r.Body, path, proof.Base64.Encode(adyenMAC(k, text))); err != nil {
			return fmt.Errorf("set the signature of an item: %w", err)
		}
	}
	return nil
}

func sampleAdyen(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "AUTHORISATION")
	if strings.Contains(eventType, ".") { // such as balancePlatform.transfer.updated
		return proof.SampleJSON(proof.Object{
			"type": eventType, "environment": "test", "timestamp": now.UTC().Format(time.RFC3339),
			"data": proof.Object{
				"id": cmp.Or(id, strings.ToUpper(proof.FreshID(""))), "sequenceNumber": 1, "balancePlatform": "HooklatchDemo",
				"status": "booked", "amount": proof.Object{"value": 4200, "currency": "EUR"},
			},
		})
	}
	return proof.SampleJSON(proof.Object{
		"live": "false",
		"notificationItems": []proof.Object{{"NotificationRequestItem": proof.Object{
			"pspReference": cmp.Or(id, strings.ToUpper(proof.FreshID(""))[:16]), "merchantAccountCode": "HooklatchDemo",
			"merchantReference": "HL-0001", "amount": proof.Object{"value": 4200, "currency": "EUR"}, "eventCode": eventType,
			"eventDate": now.UTC().Format(time.RFC3339), "success": "true", "paymentMethod": "visa",
			"additionalData": proof.Object{"expiryDate": "03/2030", "cardSummary": "1111"},
		}}},
	})
}
