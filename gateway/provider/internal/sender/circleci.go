package sender

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// CircleCI declares the outbound webhooks of CircleCI.
// Source: circleci.com/docs/outbound-webhooks ("Communication protocol",
// "Validate webhooks") and circleci.com/docs/webhooks-reference.
func CircleCI(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("Circleci-Signature", "", proof.Hex)
	s.Pairs = &proof.Pairs{Separator: ",", Assign: "=", Signature: "v1"}
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/type"),
		Occurred: proof.Clock{Pointer: "/happened_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "circleci",
		Title:          "CircleCI",
		HeaderFamilies: []string{"Circleci-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in hex, as `v1` in the header `circleci-signature`. Other versions are ignored. No time is signed.",
			KeyRule: "`/id` of the body, which identifies the event. `/webhook/id` identifies the webhook, and other ids the pipeline, the " +
				"workflow and the job.",
			Setup: []string{
				"Open Project Settings, Webhooks, Add Webhook. Enter the URL {url}, and choose the events.",
				"Generate a long random secret token and enter it there: it is the secret of the source. Leave certificate verification on.",
				"Test Ping Event sends an event of the type ping.",
			},
			Notes: []string{
				"Without a secret token CircleCI signs nothing, and its deliveries are refused.",
				"CircleCI documents that it retries and that a delivery may arrive twice, but not for how long it retries. Hooklatch assumes a day.",
				"A project has at most 5 webhooks.",
			},
			Backfill: "GET /api/v2/project/{slug}/pipeline and the workflows of each pipeline return their current state, not the events.",
			Docs:     "https://circleci.com/docs/outbound-webhooks",
		},
		Events:      f.Events,
		Methods:     []string{http.MethodPost},
		Sample:      sampleCircleCI,
		Deadline:    5 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleCircleCI(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "workflow-completed")
	at := now.UTC().Format(time.RFC3339Nano)
	body := proof.Object{
		"id": cmp.Or(id, uuid.NewString()), "type": eventType, "happened_at": at,
		"webhook":      proof.Object{"id": "cf8c4fdd-0587-4da1-b4ca-4846e9640af9", "name": "Hooklatch"},
		"project":      proof.Object{"id": "84996744-a854-4f5e-aea3-04e2851dc1d2", "name": "hello-world", "slug": "gh/acme/hello-world"},
		"organization": proof.Object{"id": "f22b6566-597d-46d5-ba74-99ef5bb3d85c", "name": "acme"},
		"pipeline":     proof.Object{"id": "1285fe1d-d3a6-44fc-8886-8979558254c4", "number": 130, "created_at": at},
		"workflow": proof.Object{
			"id": "fda08377-fe7e-46b1-8992-3a7aaecac9c3", "name": "build", "status": "success", "created_at": at, "stopped_at": at,
			"url": "https://app.circleci.com/pipelines/github/acme/hello-world/130/workflows/fda08377-fe7e-46b1-8992-3a7aaecac9c3",
		},
	}
	if strings.HasPrefix(eventType, "job-") {
		body["job"] = proof.Object{"id": "8b91f9a8-7975-4e60-916c-f0152ccbf937", "number": 136, "name": "test", "status": "success", "started_at": at}
	}
	return proof.SampleJSON(body, "Circleci-Event-Type", eventType, "User-Agent", "CircleCI-Webhook/1.0")
}
