package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// newSentry knows the webhooks of integrations, internal and public ones.
// Source: docs.sentry.io/organization/integrations/integration-platform/webhooks;
// getsentry/sentry, sentry_apps.
func newSentry(Options) (*Provider, error) {
	request, resource := inHeader("Request-ID"), inHeader("Sentry-Hook-Resource")
	s := &scheme{
		headers:  []headerNames{{signature: "Sentry-Hook-Signature"}},
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
		single:   []string{request.Header, resource.Header},
	}
	f := facts{
		id:       verbatim(request),
		kind:     resource,
		detail:   at("/action"),
		needJSON: true,
	}
	return &Provider{
		Name:  "sentry",
		Title: "Sentry",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in hex, in the header Sentry-Hook-Signature. Neither the id nor the time is signed.",
			KeyRule:   "The header Request-ID.",
			Setup: []string{
				"Settings, Developer Settings, the integration: webhook URL {url}, and the resources it gets.",
				"The client secret of the integration is the secret of the source.",
			},
			Notes: []string{
				"Unconfirmed: Sentry waits for 1 s and tries once. What it cannot deliver is lost.",
				"Unconfirmed: that the signed text is the body byte for byte. Sentry's examples serialize the parsed body again; both are normally the same.",
				"The id is not signed: the replay guard tells when the same signed body comes again under another id.",
				"The type is the resource and the action: issue.created, event_alert.triggered, installation.deleted.",
			},
			Backfill: "GET /api/0/organizations/{organization}/issues/: state, not events.",
			Docs:     "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleSentry,
		UnsignedID:  true,
		ReplayToken: s.replayToken,
		Deadline:    time.Second,
	}, nil
}

func sampleSentry(eventType, id string, now time.Time) *Request {
	resource, action, _ := strings.Cut(cmp.Or(eventType, "issue.created"), ".")
	id = cmp.Or(id, strings.ReplaceAll(uuid.NewString(), "-", ""))
	body := object{
		"installation": object{"uuid": "a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},
		"actor":        object{"type": "application", "id": "sentry", "name": "Sentry"},
		"data": object{resource: object{
			"id": strconv.FormatInt(numberOf(id), 10), "shortId": "DEMO-1", "title": "ReferenceError: blooopy is not defined", "level": "error", "status": "unresolved",
			"platform": "javascript", "firstSeen": now.UTC().Format(time.RFC3339Nano), "project": object{"id": "1", "slug": "demo"},
		}},
	}
	if action != "" {
		body["action"] = action
	}
	return sampleJSON(body,
		"Sentry-Hook-Resource", resource,
		"Sentry-Hook-Timestamp", strconv.FormatInt(now.Unix(), 10),
		"Request-ID", id)
}
