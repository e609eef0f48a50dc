package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Mux declares the webhooks of Mux Video and Data.
// Source: mux.com/docs/core/verify-webhook-signatures; mux-node-sdk
// src/webhooks.
func Mux(o provider.Options) (*provider.Provider, error) {
	s := proof.TimedBody("Mux-Signature", proof.Seconds, proof.Tolerance(o, proof.StandardTolerance))
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/type"),
		Occurred: proof.Clock{Pointer: "/created_at"},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "mux",
		Title:          "Mux",
		HeaderFamilies: []string{"Mux-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the time and the body, in hex, in the header Mux-Signature.",
			KeyRule: "/id of the body. /object/id names the asset, not the event.",
			Setup: []string{
				"Open Settings, Webhooks, Create new webhook. Choose the environment, and enter the URL {url}.",
				"Press Show signing secret: this secret is the secret of the source. Every endpoint has a different secret.",
			},
			Notes: []string{
				"The body lists the attempts before this one (/attempts), so it differs from one attempt to the next.",
				"Unconfirmed: Mux retries for 24 hours, and the response deadline is 5 s.",
			},
			Backfill: "GET /video/v1/assets returns the current state, not the events.",
			Docs:     "https://www.mux.com/docs/core/verify-webhook-signatures",
		},
		Events:      f.Events,
		Sample:      sampleMux,
		Deadline:    5 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleMux(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "video.asset.ready")
	kind := strings.TrimPrefix(eventType[:max(0, strings.LastIndexByte(eventType, '.'))], "video.")
	asset := proof.FreshID("")
	return proof.SampleJSON(proof.Object{
		"type": eventType, "id": cmp.Or(id, uuid.NewString()), "created_at": now.UTC().Format(time.RFC3339Nano),
		"object":      proof.Object{"type": kind, "id": asset},
		"environment": proof.Object{"name": "Production", "id": "j0863n"}, "request_id": nil, "accessor": nil, "accessor_source": nil,
		"attempts": []proof.Object{},
		"data": proof.Object{
			"id": asset, "status": "ready", "duration": 23.8, "aspect_ratio": "16:9", "created_at": now.Unix(),
			"playback_ids": []proof.Object{{"id": proof.FreshID(""), "policy": "public"}},
		},
	})
}
