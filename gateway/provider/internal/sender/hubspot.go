package sender

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

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type hubspot struct{ v3, old proof.Scheme }

const hubspotVersion = "X-Hubspot-Signature-Version"

// HubSpot declares HubSpot's webhooks. One request may carry signatures of three versions. The
// older two versions are bare hashes, and are used only if the third is missing. Source:
// developers.hubspot.com, "Validating requests from HubSpot" and "Custom workflow actions";
// HubSpot/hubspot-api-nodejs, signature.spec.ts.
func HubSpot(o provider.Options) (*provider.Provider, error) {
	h := &hubspot{
		v3: proof.Scheme{
			Headers:   []proof.HeaderNames{{Signature: "X-Hubspot-Signature-V3", Timestamp: "X-Hubspot-Request-Timestamp"}},
			Hash:      sha256.New,
			Encoding:  proof.Base64,
			Template:  proof.Template{proof.InMethod, proof.InURL, proof.InBody, proof.InTimestamp},
			Secret:    proof.KeySpelling{Encoding: proof.Raw},
			Unit:      proof.Milliseconds,
			Tolerance: proof.Tolerance(o, proof.StandardTolerance),
		},
		old: proof.Scheme{
			Headers:  []proof.HeaderNames{{Signature: "X-Hubspot-Signature"}},
			Encoding: proof.Hex,
			Secret:   proof.KeySpelling{Encoding: proof.Raw},
			Single:   []string{hubspotVersion},
		},
	}
	return &provider.Provider{
		Name:           "hubspot",
		Title:          "HubSpot",
		HeaderFamilies: []string{"X-Hubspot-*"},
		About:          aboutHubSpot(),
		Verify:         h.verify,
		Events:         hubspotEvents().Events,
		SignsURL:       true,
		CheckSecret:    h.v3.CheckSecret,
		Sign:           h.sign,
		Sample:         sampleHubSpot,
		Retry:          proof.RetrySigns{Number: proof.At("/0/attemptNumber")}.Of,
		Deadline:       5 * time.Second,
		RetryWindow:    3 * proof.Day, // for workflows; subscriptions retry for a day
	}, nil
}

// hubspotEvents returns the rule for the list of events that a subscription sends, or for the
// single object that a workflow sends. A workflow's custom action has an id. A workflow's webhook
// has none, and does not change when the workflow runs again for an unchanged object.
func hubspotEvents() proof.EventRule {
	event := proof.Facts{
		// HubSpot does not promise that eventId is unique.
		ID:   proof.Whole("/attemptNumber"),
		Kind: proof.At("/subscriptionType"), Occurred: proof.Clock{Pointer: "/occurredAt", Unit: proof.Milliseconds},
	}
	action, webhook := event, event
	callback := proof.At("/callbackId")
	action.ID = proof.Verbatim(callback)
	webhook.ID = proof.EveryTime(proof.Fixed("workflow"))
	list := proof.Each("", event.Of)
	return func(d *proof.Document) ([]provider.Event, error) {
		root, err := d.JSON()
		switch {
		case err != nil || !root.IsObject():
			return list(d)
		case callback.Optional(d) != "":
			return action.Of(d)
		}
		return webhook.Of(d)
	}
}

func aboutHubSpot() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.Vector | provider.SDK,
			EventID:     provider.Documentation,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Documentation,
			Resend:      provider.Nobody,
		},
		Signing: "HMAC-SHA256 of the method, the public URL, the body and the time in the header X-HubSpot-Signature-v3. If this header " +
			"is missing, Hooklatch verifies version 2 or 1 of X-HubSpot-Signature: a SHA-256 of the client secret followed by the " +
			"request.",
		KeyRule: "A hash of the whole event without attemptNumber: HubSpot says that eventId alone is not unique. Custom actions of workflows: callbackId. " +
			"Webhooks of workflows: each delivery is an event.",
		Setup: []string{
			"Open your app in the developer account (or Settings, Integrations, Private apps), Webhooks, and set the target URL {url}.",
			"Use the client secret of the app (Auth) as the secret of the source.",
			"Set `public_url` of the source to exactly the URL that HubSpot calls, or `gateway.public_url` to its part before /webhooks: the URL is signed.",
			"Create the subscriptions and activate them.",
		},
		Notes: []string{
			proof.KeyHasMore,
			"One delivery carries up to 100 events, in any order.",
			"Versions 1 and 2 sign no time, so an old delivery can be resent; its events are then duplicates.",
			"It is unconfirmed which escapes of the URL HubSpot decodes before it signs. Hooklatch tries both spellings.",
			"Custom actions of workflows are accepted too: each is one event of the type unknown. The secret is the client secret of the app that has the action.",
			"Webhooks of workflows are accepted if they use a request signature and POST. For webhooks without a signature, use the provider token.",
			"Webhooks of workflows have no id, and a workflow that runs twice may send the same body. So each delivery is a new event, also a retry of an " +
				"accepted one (HubSpot got no answer), or a captured one that is sent again. If your bodies always differ, set " +
				"`dedup: {ignore: [/attemptNumber]}` to accept equal bodies once. It also replaces callbackId as the key of custom actions.",
			"Workflows retry for 3 days, and subscriptions for one. Unconfirmed: callbackId is the same in all attempts.",
		},
		Docs: "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
	}
}

func (h *hubspot) verify(_ context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	if len(r.Header[h.v3.Headers[0].Signature]) == 0 {
		return h.verifyOld(r, secrets)
	}
	c, err := h.v3.Claim(r)
	if err != nil {
		return provider.Verified{}, err
	}
	if r.URL == nil {
		return provider.Verified{}, proof.ErrNoURL
	}
	urls := hubspotURLs(r)
	index, err := h.v3.Secret.Match(secrets, c.Signatures, func(key []byte) [][]byte {
		var macs [][]byte
		for _, u := range urls {
			macs = append(macs, hubspotMAC(key, r, u, c.Timestamp))
		}
		return macs
	})
	if err != nil {
		return provider.Verified{}, err
	}
	if err := proof.Within(c.SignedAt, now, h.v3.Tolerance); err != nil {
		return provider.Verified{}, err
	}
	return provider.Verified{SecretIndex: index, SignedAt: c.SignedAt}, nil
}

func hubspotMAC(key []byte, r *provider.Request, url, timestamp string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Method))
	mac.Write([]byte(url))
	mac.Write(r.Body)
	mac.Write([]byte(timestamp))
	return mac.Sum(nil)
}

// hubspotURLs returns the called URL. If the URL contains escapes that HubSpot decodes before it
// signs, hubspotURLs also returns the decoded URL.
func hubspotURLs(r *provider.Request) []string {
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

// verifyOld verifies versions 1 and 2. An unknown sender could extend the hashed text with bytes
// that begin with 0x80, but neither JSON nor a URL can continue with 0x80.
func (h *hubspot) verifyOld(r *provider.Request, secrets []secret.Value) (provider.Verified, error) {
	c, err := h.old.Claim(r)
	if err != nil {
		return provider.Verified{}, err
	}
	version := r.Header.Get(hubspotVersion)
	if version != "v1" && version != "v2" {
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: hubspotVersion + " is neither v1 nor v2"}
	}
	if version == "v2" && r.URL == nil {
		return provider.Verified{}, proof.ErrNoURL
	}
	index, err := h.old.Secret.Match(secrets, c.Signatures, func(key []byte) [][]byte {
		sum := sha256.New()
		sum.Write(key)
		if version == "v2" {
			sum.Write([]byte(r.Method + r.URL.String()))
		}
		sum.Write(r.Body)
		return [][]byte{sum.Sum(nil)}
	})
	return provider.Verified{SecretIndex: index}, err
}

func (h *hubspot) sign(r *provider.Request, key secret.Value, now time.Time) error {
	k, err := h.v3.Secret.Key(key)
	if err != nil {
		return err
	}
	if r.URL == nil {
		return proof.ErrNoURL
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	names, timestamp := h.v3.Headers[0], h.v3.Unit.Format(now)
	r.Header.Set(names.Timestamp, timestamp)
	r.Header.Set(names.Signature, proof.Base64.Encode(hubspotMAC(k, r, hubspotDecode(r.URL.String()), timestamp)))
	return nil
}

func sampleHubSpot(eventType, id string, now time.Time) *provider.Request {
	var event any = id // HubSpot uses a number
	if id == "" {
		event = uuid.New().ID()
	}
	body := proof.Object{
		"eventId": event, "subscriptionId": 138, "portalId": 62515, "appId": 1160452, "occurredAt": now.UnixMilli(),
		"subscriptionType": cmp.Or(eventType, "contact.creation"), "attemptNumber": 0, "objectId": 123, "changeSource": "CRM",
	}
	if _, change, _ := strings.Cut(eventType, "."); change == "propertyChange" {
		body["propertyName"], body["propertyValue"] = "firstname", "Ada"
	} else {
		body["changeFlag"] = "NEW"
	}
	return proof.SampleJSON([]proof.Object{body})
}
