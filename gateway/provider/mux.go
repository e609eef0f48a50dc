package provider

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// newMux knows the webhooks of Mux Video and Data.
// Source: mux.com/docs/core/verify-webhook-signatures; mux-node-sdk
// src/webhooks.
func newMux(o Options) (*Provider, error) {
	s := &scheme{
		headers:   []headerNames{{signature: "Mux-Signature"}},
		pairs:     &pairs{separator: ",", assign: "=", signature: "v1", timestamp: "t"},
		hash:      sha256.New,
		encoding:  hexDigits,
		template:  template{inTimestamp, ".", inBody},
		secret:    keySpelling{encoding: rawBytes},
		unit:      seconds,
		tolerance: tolerance(o, standardTolerance),
	}
	f := facts{
		id:       verbatim(at("/id")),
		kind:     at("/type"),
		occurred: clock{Pointer: "/created_at"},
	}
	return &Provider{
		Name:  "mux",
		Title: "Mux",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the time and the body, in hex, in the header Mux-Signature.",
			KeyRule:   "/id of the body. Not /object/id, which names the asset.",
			Setup: []string{
				"Settings, Webhooks, Create new webhook: choose the environment, URL {url}.",
				"Show signing secret: it is the secret of the source. Every endpoint has its own.",
			},
			Notes: []string{
				"The body lists the attempts before this one (/attempts), so it differs from one attempt to the next.",
				"Unconfirmed: retries for 24 hours, and an answer within 5 s.",
			},
			Backfill: "GET /video/v1/assets: state, not events.",
			Docs:     "https://www.mux.com/docs/core/verify-webhook-signatures",
		},
		Verify:      s.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleMux,
		Deadline:    5 * time.Second,
		RetryWindow: day,
	}, nil
}

func sampleMux(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "video.asset.ready")
	kind := strings.TrimPrefix(eventType[:max(0, strings.LastIndexByte(eventType, '.'))], "video.")
	asset := freshID("")
	return sampleJSON(object{
		"type": eventType, "id": cmp.Or(id, uuid.NewString()), "created_at": now.UTC().Format(time.RFC3339Nano),
		"object":      object{"type": kind, "id": asset},
		"environment": object{"name": "Production", "id": "j0863n"}, "request_id": nil, "accessor": nil, "accessor_source": nil,
		"attempts": []object{},
		"data": object{
			"id": asset, "status": "ready", "duration": 23.8, "aspect_ratio": "16:9", "created_at": now.Unix(),
			"playback_ids": []object{{"id": freshID(""), "policy": "public"}},
		},
	})
}
