package sender

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/plaidkeys"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const plaidToken = "Plaid-Verification"

type plaid struct {
	token proof.WebToken
	keys  *plaidkeys.Keys
}

// Plaid declares Plaid's webhooks. Only Plaid's customers can fetch the public keys that verify
// them. Source: plaid.com/docs/api/webhooks/webhook-verification, /docs/api/webhooks.
func Plaid(o provider.Options) (*provider.Provider, error) {
	p := &plaid{
		token: proof.WebToken{
			Header:     plaidToken,
			Algorithms: []string{"ES256"},
			Keys:       noKeys,
			BodyHash:   "request_body_sha256",
			MaxAge:     5 * time.Minute,
			Leeway:     proof.StandardLeeway,
		},
		keys: plaidkeys.New(o),
	}
	f := proof.Facts{ID: p.key, Kind: proof.At("/webhook_type"), Detail: proof.At("/webhook_code"), Occurred: proof.Clock{Pointer: "/timestamp"}, NeedJSON: true}
	return &provider.Provider{
		Name:           "plaid",
		Title:          "Plaid",
		HeaderFamilies: []string{"Plaid-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Nobody,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "A JSON Web Token (ES256) in the header Plaid-Verification, with the time and the SHA-256 of the body. The key comes from " +
				"Plaid's API and is kept for an hour.",
			KeyRule: "The content and the signed time of the attempt: Plaid sends no event id, and most of its webhooks have the same " +
				"content each time something changes. Webhooks that contain a timestamp are identified by their content only.",
			Setup: []string{
				"Pass {url} as `webhook` when you create a link token. You can also set it with /item/webhook/update, or in the dashboard under Developers, Webhooks.",
				"The secret of the source is client_id:secret, both from the dashboard under Developers, Keys. For the sandbox it is sandbox:client_id:secret.",
				"Hooklatch uses this secret to fetch the keys from Plaid's API. A private key (PEM) as the secret is for hooklatch send " +
					"and tests.",
			},
			Notes: []string{
				"A resent webhook that contains a timestamp is a duplicate. Any other resent webhook is another event, because its signed time is new. To merge copies that arrive close together, set dedup: content on the source.",
				"A key that has verified a delivery is kept in the database (sender_keys), so a restart does not depend on Plaid's API. " +
					"Without the API, the key can be used for a day.",
				"The first delivery with a new key waits at most a second for Plaid's API; then Hooklatch answers 503 and Plaid retries.",
				"The keys are Plaid's, not yours: a token proves only that Plaid signed it, for one of its customers. Check that item_id " +
					"is one of your items.",
				"The type is webhook_type, a dot and webhook_code: TRANSACTIONS.SYNC_UPDATES_AVAILABLE.",
				"Unconfirmed: each attempt is signed anew.",
			},
			Backfill: "/transactions/sync lists the changes after the cursor that you keep for each item. /transfer/event/sync lists " +
				"events of transfers.",
			Docs: "https://plaid.com/docs/api/webhooks/webhook-verification/",
		},
		Verify:      p.verify,
		Events:      f.Events,
		CheckSecret: checkPlaid,
		Sign:        p.token.Sign,
		Sample:      samplePlaid,
		Deadline:    10 * time.Second,
		RetryWindow: proof.Day,
	}, nil
}

// verify verifies the token with a key among the secrets. If no such key fits, it uses the keys
// that Plaid's API returns to the accounts among the secrets.
func (p *plaid) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	if len(secrets) == 0 {
		return provider.Verified{}, proof.ErrNoSecret
	}
	verified, refused := p.token.ByOwnKeys(ctx, r, secrets, now)
	if !proof.IsUnknownKey(refused) {
		return verified, refused
	}
	if err := p.token.Plausible(r, now); err != nil {
		return provider.Verified{}, err
	}
	// One unknown key uses the budget once, however many accounts are queried for it.
	may := sync.OnceValue(func() bool { return p.keys.Budget.Take(proof.AskerOf(r)) })
	var fault error
	for i, s := range secrets {
		account, err := plaidkeys.ReadAccount(s)
		if err != nil {
			if _, noKey := proof.ReadKey(s); noKey != nil {
				fault = fmt.Errorf("secret %d: %w", i, err)
			}
			continue
		}
		published, find := p.token, p.keys.Of(account, may)
		name := plaidkeys.Name{Account: account}
		published.Keys = func(ctx context.Context, id string) ([]proof.PublishedKey, error) {
			name.ID = id
			return find(ctx, id)
		}
		verified, err := published.Verify(ctx, r, nil, now)
		switch _, ours := errors.AsType[*provider.VerifyError](err); {
		case proof.IsUnknownKey(err):
		case err == nil || ours:
			if err == nil {
				p.keys.Proven(name)
			}
			verified.SecretIndex = i
			return verified, err
		default:
			fault = fmt.Errorf("secret %d: %w", i, err)
		}
	}
	return provider.Verified{}, cmp.Or(fault, refused)
}

// checkPlaid accepts an account or a key.
func checkPlaid(s secret.Value) error {
	_, err := plaidkeys.ReadAccount(s)
	if err != nil {
		if _, noKey := proof.ReadKey(s); noKey == nil {
			return nil
		}
	}
	return err
}

// noKeys finds no keys. verify searches the keys of each account instead.
func noKeys(context.Context, string) ([]proof.PublishedKey, error) { return nil, nil }

// key builds an event's key. If the content contains a timestamp, the key is the hash of the
// content. Webhooks without a timestamp have the same content each time something changes, so their
// key also contains the signed time.
func (p *plaid) key(d *proof.Document) (string, error) {
	content := proof.Hashed(proof.At("/webhook_type").IfAny(), proof.At("/webhook_code").IfAny(), proof.At(""))
	if proof.At("/timestamp").Optional(d) != "" {
		return content(d)
	}
	about, err := content(d)
	if err != nil {
		return "", err
	}
	token, err := proof.InHeader(plaidToken).Text(d)
	if err != nil {
		return "", err
	}
	var claims struct {
		IssuedAt json.Number `json:"iat"`
	}
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := proof.Base64URL.Decode(payload)
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.IssuedAt == "" {
		return "", &provider.EventError{Message: "header " + plaidToken + " contains no time (iat)"}
	}
	return proof.HashOf(about, claims.IssuedAt.String()), nil
}

func samplePlaid(eventType, id string, now time.Time) *provider.Request {
	kind, code, _ := strings.Cut(cmp.Or(eventType, "TRANSACTIONS.SYNC_UPDATES_AVAILABLE"), ".")
	body := proof.Object{
		"webhook_type": kind, "webhook_code": cmp.Or(code, "UPDATE"), "item_id": cmp.Or(id, proof.FreshID("")), "environment": "production",
	}
	switch kind {
	case "TRANSACTIONS":
		body["initial_update_complete"], body["historical_update_complete"] = true, true
	case "PAYMENT_INITIATION":
		body["payment_id"], body["timestamp"] = "payment-id-production-"+proof.FreshID(""), now.UTC().Format(time.RFC3339)
		body["old_payment_status"], body["new_payment_status"] = "PAYMENT_STATUS_INITIATED", "PAYMENT_STATUS_EXECUTED"
	}
	return proof.SampleJSON(body)
}
