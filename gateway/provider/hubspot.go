package provider

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// hubspot knows HubSpot's webhooks, signed in up to three versions at a time.
// The older two are bare hashes; they count only where the third is not there.
// Source: developers.hubspot.com, "Validating requests from HubSpot";
// HubSpot/hubspot-api-nodejs, signature.spec.ts.
type hubspot struct{ v3, old scheme }

const hubspotVersion = "X-Hubspot-Signature-Version"

func newHubSpot(o Options) (*Provider, error) {
	h := &hubspot{
		v3: scheme{
			headers:   []headerNames{{signature: "X-Hubspot-Signature-V3", timestamp: "X-Hubspot-Request-Timestamp"}},
			hash:      sha256.New,
			encoding:  base64Std,
			template:  template{inMethod, inURL, inBody, inTimestamp},
			secret:    keySpelling{encoding: rawBytes},
			unit:      milliseconds,
			tolerance: tolerance(o, standardTolerance),
		},
		old: scheme{
			headers:  []headerNames{{signature: "X-Hubspot-Signature"}},
			encoding: hexDigits,
			secret:   keySpelling{encoding: rawBytes},
			single:   []string{hubspotVersion},
		},
	}
	f := facts{
		// HubSpot does not promise that eventId is unique.
		id: hashedSome(
			[]field{at("/portalId"), at("/subscriptionId"), at("/eventId"), at("/occurredAt")},
			at("/appId"), at("/objectId"), at("/propertyName"), at("/subscriptionType"), at("/objectTypeId"), at("/fromObjectId"),
			at("/toObjectId"), at("/associationType"), at("/associationRemoved"), at("/primaryObjectId"), at("/messageId"),
		),
		kind: at("/subscriptionType"), occurred: clock{Pointer: "/occurredAt", unit: milliseconds},
	}
	return &Provider{
		Name:        "hubspot",
		Title:       "HubSpot",
		About:       aboutHubSpot(),
		Verify:      h.verify,
		Events:      each("", f.of).events,
		Methods:     []string{http.MethodPost},
		SignsURL:    true,
		CheckSecret: h.v3.checkSecret,
		Sign:        h.sign,
		Sample:      sampleHubSpot,
		Retry:       retrySigns{number: at("/0/attemptNumber")}.of,
		Deadline:    5 * time.Second,
		RetryWindow: day,
	}, nil
}

func aboutHubSpot() About {
	return About{
		Confirmed: Unconfirmed,
		Signing: "HMAC-SHA256 of the method, the public URL, the body and the time in the header X-HubSpot-Signature-v3. Only where that is " +
			"missing: version 2 or 1 of X-HubSpot-Signature, a SHA-256 of the client secret with the request behind it.",
		KeyRule: "A hash of portalId, appId, subscriptionId, eventId, occurredAt and of the objects and the property concerned. " +
			"eventId alone is not unique, says HubSpot; attemptNumber does not count.",
		Setup: []string{
			"Open your app in the developer account (or Settings, Integrations, Private apps), Webhooks, and set the target URL {url}.",
			"Use the client secret of the app (Auth) for the secret of the source.",
			"Set public_url of the gateway to the URL as HubSpot calls it: it is signed.",
			"Create the subscriptions and activate them.",
		},
		Notes: []string{
			"One delivery carries up to 100 events, in no order.",
			"Versions 1 and 2 sign no time, so that an old delivery can be sent again; its events are then known already.",
			"Unconfirmed: which escapes of the URL HubSpot decodes before it signs. Both spellings are tried.",
			"The webhooks of workflows have a body of your own without an id: use the provider hmac or token for them.",
		},
		Docs: "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
	}
}

func (h *hubspot) verify(_ context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	if len(r.Header[h.v3.headers[0].signature]) == 0 {
		return h.verifyOld(r, secrets)
	}
	c, err := h.v3.claim(r)
	if err != nil {
		return Verified{}, err
	}
	if r.URL == nil {
		return Verified{}, errNoURL
	}
	urls := hubspotURLs(r)
	index, err := h.v3.secret.match(secrets, c.signatures, func(key []byte) [][]byte {
		var macs [][]byte
		for _, u := range urls {
			macs = append(macs, hubspotMAC(key, r, u, c.timestamp))
		}
		return macs
	})
	if err != nil {
		return Verified{}, err
	}
	if err := within(c.signedAt, now, h.v3.tolerance); err != nil {
		return Verified{}, err
	}
	return Verified{SecretIndex: index, SignedAt: c.signedAt}, nil
}

func hubspotMAC(key []byte, r *Request, url, timestamp string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Method))
	mac.Write([]byte(url))
	mac.Write(r.Body)
	mac.Write([]byte(timestamp))
	return mac.Sum(nil)
}

// hubspotURLs are the URL as it was called and, where it has escapes that
// HubSpot decodes before signing, with those decoded.
func hubspotURLs(r *Request) []string {
	called := r.URL.String()
	if decoded := hubspotDecode(called); decoded != called {
		return []string{called, decoded}
	}
	return []string{called}
}

func hubspotDecode(url string) string {
	const decoded = "%3A %2F %3F %40 %21 %24 %27 %28 %29 %2A %2C %3B"
	var text strings.Builder
	for i := 0; i < len(url); i++ {
		if url[i] == '%' && i+3 <= len(url) && strings.Contains(decoded, strings.ToUpper(url[i:i+3])) {
			if c, err := strconv.ParseUint(url[i+1:i+3], 16, 8); err == nil {
				text.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		text.WriteByte(url[i])
	}
	return text.String()
}

// verifyOld proves versions 1 and 2. Behind what they hash a stranger could
// add bytes, beginning with 0x80: no JSON and no URL goes on like that.
func (h *hubspot) verifyOld(r *Request, secrets []secret.Value) (Verified, error) {
	c, err := h.old.claim(r)
	if err != nil {
		return Verified{}, err
	}
	version := r.Header.Get(hubspotVersion)
	if version != "v1" && version != "v2" {
		return Verified{}, &VerifyError{Reason: ReasonMalformedSignature, Detail: hubspotVersion + " is neither v1 nor v2"}
	}
	if version == "v2" && r.URL == nil {
		return Verified{}, errNoURL
	}
	index, err := h.old.secret.match(secrets, c.signatures, func(key []byte) [][]byte {
		sum := sha256.New()
		sum.Write(key)
		if version == "v2" {
			sum.Write([]byte(r.Method + r.URL.String()))
		}
		sum.Write(r.Body)
		return [][]byte{sum.Sum(nil)}
	})
	return Verified{SecretIndex: index}, err
}

func (h *hubspot) sign(r *Request, key secret.Value, now time.Time) error {
	k, err := h.v3.secret.key(key)
	if err != nil {
		return err
	}
	if r.URL == nil {
		return errNoURL
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	names, timestamp := h.v3.headers[0], h.v3.unit.format(now)
	r.Header.Set(names.timestamp, timestamp)
	r.Header.Set(names.signature, base64Std.encode(hubspotMAC(k, r, hubspotDecode(r.URL.String()), timestamp)))
	return nil
}

func sampleHubSpot(eventType, id string, now time.Time) *Request {
	var event any = id // a number at HubSpot
	if id == "" {
		event = uuid.New().ID()
	}
	body := object{
		"eventId": event, "subscriptionId": 138, "portalId": 62515, "appId": 1160452, "occurredAt": now.UnixMilli(),
		"subscriptionType": cmp.Or(eventType, "contact.creation"), "attemptNumber": 0, "objectId": 123, "changeSource": "CRM",
	}
	if _, change, _ := strings.Cut(eventType, "."); change == "propertyChange" {
		body["propertyName"], body["propertyValue"] = "firstname", "Ada"
	} else {
		body["changeFlag"] = "NEW"
	}
	return sampleJSON([]object{body})
}
