package sender

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// zoomTolerance exceeds Zoom's retry window. A shorter tolerance would gain little: the key is
// built from the signed text, so a replay is a duplicate.
const zoomTolerance = 3 * time.Hour

type zoom struct{ scheme proof.Scheme }

// Zoom declares Zoom's webhooks, which are signed like Slack's. Source:
// developers.zoom.us/docs/api/webhooks; zoom/webhook-sample.
func Zoom(o provider.Options) (*provider.Provider, error) {
	z := &zoom{scheme: proof.Scheme{
		Headers:   []proof.HeaderNames{{Signature: "X-Zm-Signature", Timestamp: "X-Zm-Request-Timestamp"}},
		Prefix:    "v0=",
		Hash:      sha256.New,
		Encoding:  proof.Hex,
		Template:  proof.Template{"v0:", proof.InTimestamp, ":", proof.InBody},
		Secret:    proof.KeySpelling{Encoding: proof.Raw},
		Unit:      proof.Seconds,
		Tolerance: proof.Tolerance(o, zoomTolerance),
	}}
	f := proof.Facts{
		ID:   proof.OrWhole(proof.Hashed(proof.At("/event"), proof.At("/event_ts"), proof.At("/payload"))),
		Kind: proof.At("/event"), Occurred: proof.Clock{Pointer: "/event_ts", Unit: proof.Milliseconds},
	}
	return &provider.Provider{
		Name:           "zoom",
		Title:          "Zoom",
		HeaderFamilies: []string{"X-Zm-*"},
		About:          aboutZoom(),
		Verify:         z.scheme.Verify,
		Events:         f.Events,
		Handshake:      z.handshake,
		CheckSecret:    z.scheme.CheckSecret,
		Sign:           z.scheme.Sign,
		Sample:         sampleZoom,
		Deadline:       3 * time.Second,
		RetryWindow:    2*time.Hour + 5*time.Minute,
	}, nil
}

func aboutZoom() provider.About {
	return provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Others,
			EventID:     provider.Nobody,
			Handshake:   provider.Others,
			RetryWindow: provider.Nobody,
			Resend:      provider.Nobody,
		},
		Signing: "HMAC-SHA256 of the time and the body in the header x-zm-signature.",
		KeyRule: "Zoom sends no event id. Hooklatch uses a hash of event, event_ts and payload. The header x-zm-trackingid identifies the request, not the event.",
		Setup: []string{
			"Open your app in the Zoom App Marketplace, Features, Access, and use its Secret Token as the secret of the source.",
			"While Hooklatch runs, add an event subscription with the endpoint URL {url} and press Validate: Hooklatch answers the " +
				"challenge.",
			"Add the event types and save.",
		},
		Notes: []string{
			"Zoom validates the endpoint again every 72 hours (unconfirmed).",
			"No tolerance for the signed time is documented. 300 seconds is usual, but it is unconfirmed whether a retry carries a new " +
				"time. The default is therefore 3 hours.",
			"Unconfirmed: Zoom retries after 5, 30 and 90 minutes, and the deadline is 3 seconds.",
		},
		Docs: "https://developers.zoom.us/docs/api/webhooks/",
	}
}

// handshake answers endpoint.url_validation. The request is signed, so only Zoom can make us sign a
// string of its choice with the secret.
func (z *zoom) handshake(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (*provider.Answer, error) {
	if proof.Glance(r.Body, "event") != "endpoint.url_validation" {
		return nil, nil
	}
	verified, err := z.scheme.Verify(ctx, r, secrets, now)
	if err != nil {
		return nil, err
	}
	token, err := proof.At("/payload/plainToken").Text(&proof.Document{R: r})
	if err != nil {
		return nil, err
	}
	key, err := z.scheme.Secret.Key(secrets[verified.SecretIndex])
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token))
	body, err := json.Marshal(map[string]string{"plainToken": token, "encryptedToken": proof.Hex.Encode(mac.Sum(nil))})
	if err != nil {
		return nil, fmt.Errorf("answer the challenge: %w", err)
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: proof.JSONType, Body: body}, nil
}

func sampleZoom(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "meeting.started")
	kind, _, _ := strings.Cut(eventType, ".")
	return proof.SampleJSON(proof.Object{
		"event": eventType, "event_ts": now.UnixMilli(),
		"payload": proof.Object{"account_id": "HooklatchDemo", "object": proof.Object{
			"id": "94626342123", "uuid": cmp.Or(id, proof.FreshID("")), "host_id": "x1yCzABCDEfg23HiJKl4mN", "topic": "Demo " + kind, "type": 2,
			"start_time": now.UTC().Format(time.RFC3339), "timezone": "UTC", "duration": 60,
		}},
	})
}
