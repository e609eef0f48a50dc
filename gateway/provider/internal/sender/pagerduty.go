package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// PagerDuty declares PagerDuty's V3 webhooks.
// Source: github.com/PagerDuty/developer-docs docs/webhooks; go-pagerduty
// webhookv3.
func PagerDuty(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("X-Pagerduty-Signature", "", proof.Hex)
	s.Pairs = &proof.Pairs{Separator: ",", Assign: "=", Signature: "v1"}
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/event/id")),
		Kind:     proof.At("/event/event_type"),
		Occurred: proof.Clock{Pointer: "/event/occurred_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "pagerduty",
		Title:          "PagerDuty",
		HeaderFamilies: []string{"X-Pagerduty-*", "X-Webhook-Id"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in hex after v1=, in the header X-PagerDuty-Signature, one for each valid secret. No time is signed.",
			KeyRule: "/event/id of the body. /event/data/id names the incident, not the event.",
			Setup: []string{
				"Open Integrations, Generic Webhooks (v3), New Webhook. Enter the URL {url}, and choose the scope and the events.",
				"The secret is shown once, after the subscription is added.",
			},
			Notes: []string{
				"Two subscriptions deliver the same event with the same id: use a separate source for each.",
				"While an event of an incident is retried, later events of the same incident wait, so an incident's events arrive in " +
					"order.",
				"A 4xx other than 429 drops the event, and three of them disable the subscription for 24 hours.",
				"PagerDuty does not send events over 256 kB.",
			},
			Backfill: "GET /log_entries?since= lists log entries, and GET /incidents?since= lists incidents.",
			Docs:     "https://developer.pagerduty.com/docs/webhooks-overview",
		},
		Events:      f.Events,
		Sample:      samplePagerDuty,
		Deadline:    5 * time.Second,
		RetryWindow: 2 * proof.Day,
	}), nil
}

func samplePagerDuty(eventType, id string, now time.Time) *provider.Request {
	resource, _, _ := strings.Cut(cmp.Or(eventType, "incident"), ".")
	reference := func(kind, id, summary string) proof.Object {
		return proof.Object{"id": id, "type": kind + "_reference", "summary": summary, "html_url": "https://acme.pagerduty.com/" + kind + "s/" + id}
	}
	return proof.SampleJSON(proof.Object{"event": proof.Object{
		"id": cmp.Or(id, strings.ToUpper(proof.FreshID(""))), "event_type": cmp.Or(eventType, "incident.triggered"), "resource_type": resource,
		"occurred_at": now.UTC().Format(time.RFC3339Nano), "agent": reference("user", "PLH1HKV", "Tenex Engineer"), "client": nil,
		"data": proof.Object{
			"id": "PGR0VU2", "type": resource, "self": "https://api.pagerduty.com/incidents/PGR0VU2", "number": 2, "status": "triggered",
			"title": "A little bump in the road", "urgency": "high", "service": reference("service", "PF9KMXH", "API Service"),
			"assignees": []proof.Object{reference("user", "PTUXL6G", "User 123")}, "created_at": now.UTC().Format(time.RFC3339),
		},
	}})
}
