package sender

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Sentry declares the webhooks of internal and public integrations. Source:
// docs.sentry.io/organization/integrations/integration-platform/webhooks; getsentry/sentry,
// sentry_apps.
func Sentry(provider.Options) (*provider.Provider, error) {
	request, resource := proof.InHeader("Request-ID"), proof.InHeader("Sentry-Hook-Resource")
	s := proof.SignedBody("Sentry-Hook-Signature", "", proof.Hex)
	s.Single = []string{request.Header, resource.Header}
	f := proof.Facts{
		ID:       proof.Verbatim(request),
		Kind:     resource,
		Detail:   proof.At("/action"),
		NeedJSON: true,
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "sentry",
		Title:          "Sentry",
		HeaderFamilies: []string{"Request-Id", "Sentry-Hook-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in hex, in the header Sentry-Hook-Signature. Neither the id nor the time is signed.",
			KeyRule: "The header Request-ID.",
			Setup: []string{
				"Open Settings, Developer Settings, the integration. Enter the webhook URL {url}, and choose the resources to subscribe " +
					"to.",
				"The client secret of the integration is the secret of the source.",
			},
			Notes: []string{
				"Unconfirmed: Sentry waits for 1 s and tries once. An event that it cannot deliver is lost.",
				"Unconfirmed: the signed text is the body byte for byte. Sentry's examples serialize the parsed body again; both are " +
					"normally the same.",
				"The id is not signed: the replay guard reports when the same signed body arrives again under another id.",
				"The type is the resource and the action: issue.created, event_alert.triggered, installation.deleted.",
			},
			Backfill: "GET /api/0/organizations/{organization}/issues/ returns the current state, not the events.",
			Docs:     "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
		},
		Events:      f.Events,
		Sample:      sampleSentry,
		UnsignedID:  true,
		ReplayToken: s.ReplayToken,
		Deadline:    time.Second,
	}), nil
}

func sampleSentry(eventType, id string, now time.Time) *provider.Request {
	resource, action, _ := strings.Cut(cmp.Or(eventType, "issue.created"), ".")
	id = cmp.Or(id, strings.ReplaceAll(uuid.NewString(), "-", ""))
	body := proof.Object{
		"installation": proof.Object{"uuid": "a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},
		"actor":        proof.Object{"type": "application", "id": "sentry", "name": "Sentry"},
		"data": proof.Object{resource: proof.Object{
			"id": strconv.FormatInt(proof.NumberOf(id), 10), "shortId": "DEMO-1", "title": "ReferenceError: blooopy is not defined", "level": "error", "status": "unresolved",
			"platform": "javascript", "firstSeen": now.UTC().Format(time.RFC3339Nano), "project": proof.Object{"id": "1", "slug": "demo"},
		}},
	}
	if action != "" {
		body["action"] = action
	}
	return proof.SampleJSON(body,
		"Sentry-Hook-Resource", resource,
		"Sentry-Hook-Timestamp", strconv.FormatInt(now.Unix(), 10),
		"Request-ID", id)
}
