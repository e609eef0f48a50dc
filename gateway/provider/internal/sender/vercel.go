package sender

import (
	"cmp"
	"crypto/sha1"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Vercel declares the webhooks of accounts and integrations.
// Source: vercel.com/docs/webhooks, "Securing webhooks".
func Vercel(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("X-Vercel-Signature", "", proof.Hex)
	s.Hash = sha1.New
	f := proof.Facts{
		ID:       proof.Verbatim(proof.At("/id")),
		Kind:     proof.At("/type"),
		Occurred: proof.Clock{Pointer: "/createdAt", Unit: proof.Milliseconds},
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "vercel",
		Title:          "Vercel",
		HeaderFamilies: []string{"X-Vercel-Signature"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Others,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Others,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA1 over the body, in hex, in the header x-vercel-signature. No time is signed.",
			KeyRule: "/id of the body.",
			Setup: []string{
				"Open Team settings, Webhooks, Create Webhook. Choose the events and projects, and enter the endpoint URL {url}.",
				"The secret is shown once, after the webhook is created. The webhooks of an integration are signed with its client secret instead.",
			},
			Notes: []string{
				"Log and trace drains use another format (lists, and a header x-vercel-verify in the response), which is not supported.",
				"Unconfirmed: a delivery can be resent manually after the 24 hours of retries.",
			},
			Docs: "https://vercel.com/docs/webhooks/webhooks-api",
		},
		Events:      f.Events,
		Sample:      sampleVercel,
		Deadline:    30 * time.Second,
		RetryWindow: proof.Day,
	}), nil
}

func sampleVercel(eventType, id string, now time.Time) *provider.Request {
	return proof.SampleJSON(proof.Object{
		"id": cmp.Or(id, proof.FreshID("")), "type": cmp.Or(eventType, "deployment.succeeded"), "createdAt": now.UnixMilli(), "region": "sfo1",
		"payload": proof.Object{
			"team": proof.Object{"id": "team_nLlpyC6REAqxydlFKbrMDlud"}, "user": proof.Object{"id": "cl2DPjUZbZmRZCqcFpyAaLqL"},
			"project":    proof.Object{"id": "prj_12HKQaOmR5t5Uy6vdcQsNIiZgHGB"},
			"deployment": proof.Object{"id": "dpl_89qyp1cskzkLrVicDaZoDbjyHuDJ", "name": "demo", "url": "demo-hooklatch.vercel.app", "meta": proof.Object{}},
			"target":     "production", "plan": "pro", "regions": []string{"sfo1"},
		},
	})
}
