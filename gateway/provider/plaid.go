package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

const plaidToken = "Plaid-Verification"

// plaid knows the webhooks of Plaid. They are signed with a key that Plaid
// gives only to its customers.
// Source: plaid.com/docs/api/webhooks/webhook-verification, /docs/api/webhooks.
type plaid struct {
	token webToken
	keys  *plaidKeys
}

func newPlaid(o Options) (*Provider, error) {
	p := &plaid{
		token: webToken{
			header:     plaidToken,
			algorithms: []string{"ES256"},
			keys:       noKeys,
			bodyHash:   "request_body_sha256",
			maxAge:     5 * time.Minute,
			leeway:     standardLeeway,
		},
		keys: newPlaidKeys(o),
	}
	f := facts{id: p.key, kind: at("/webhook_type"), detail: at("/webhook_code"), occurred: clock{Pointer: "/timestamp"}, needJSON: true}
	return &Provider{
		Name:  "plaid",
		Title: "Plaid",
		About: About{
			Confirmed: Unconfirmed,
			Signing: "A JSON Web Token (ES256) in the header Plaid-Verification, with the SHA-256 of the body and the time. The key comes from " +
				"Plaid's API and is kept for an hour.",
			KeyRule: "The content and the signed time of the attempt: Plaid sends no event id, and most of its webhooks say the same words each time " +
				"something changed. Those with a timestamp of their own are told by their content only.",
			Setup: []string{
				"Give {url} as webhook when you create a link token (or with /item/webhook/update, or in the dashboard under Developers, Webhooks).",
				"The secret of the source is client_id:secret, both from the dashboard under Developers, Keys. For the sandbox it is sandbox:client_id:secret.",
				"Hooklatch asks Plaid's API for the keys with it. A private key (PEM) as the secret is for hooklatch send and tests.",
			},
			Notes: []string{
				"A delivery that is sent again carries a new time and is another event, except for those with a timestamp. To put copies close together into one, set dedup: content on the source.",
				"A key that has proven a delivery is kept in the database (sender_keys), so that a restart does not depend on Plaid's API: for a day without it.",
				"The first delivery with a new key waits for Plaid's API, at most a second; then it is answered 503 and Plaid tries again.",
				"The keys are Plaid's, not yours: a token proves that Plaid made it, for some customer. Look up item_id among your own items.",
				"The type is webhook_type and webhook_code: TRANSACTIONS.SYNC_UPDATES_AVAILABLE.",
				"Unconfirmed: that each attempt is signed anew.",
			},
			Backfill: "/transactions/sync with the cursor kept for each item; /transfer/event/sync.",
			Docs:     "https://plaid.com/docs/api/webhooks/webhook-verification/",
		},
		Verify:      p.verify,
		Events:      f.events,
		Methods:     []string{http.MethodPost},
		CheckSecret: checkPlaid,
		Sign:        p.token.sign,
		Sample:      samplePlaid,
		Deadline:    10 * time.Second,
		RetryWindow: day,
	}, nil
}

// verify proves the token by a key among the secrets, or by the keys Plaid
// gives to one of the accounts among them.
func (p *plaid) verify(ctx context.Context, r *Request, secrets []secret.Value, now time.Time) (Verified, error) {
	if len(secrets) == 0 {
		return Verified{}, errNoSecret
	}
	verified, refused := p.token.byOwnKeys(ctx, r, secrets, now)
	if !isUnknownKey(refused) {
		return verified, refused
	}
	if err := p.token.plausible(r, now); err != nil {
		return Verified{}, err
	}
	// One unknown key is one question, however many accounts may have it.
	may := sync.OnceValue(func() bool { return p.keys.budget.take(r.Client, now) })
	var fault error
	for i, s := range secrets {
		account, err := readPlaidAccount(s)
		if err != nil {
			if _, noKey := readKey(s); noKey != nil {
				fault = fmt.Errorf("secret %d: %w", i, err)
			}
			continue
		}
		published, find := p.token, p.keys.of(account, may)
		name := plaidKeyName{account: account}
		published.keys = func(ctx context.Context, id string, now time.Time) ([]publishedKey, error) {
			name.id = id
			return find(ctx, id, now)
		}
		verified, err := published.verify(ctx, r, nil, now)
		switch _, ours := errors.AsType[*VerifyError](err); {
		case isUnknownKey(err):
		case err == nil || ours:
			if err == nil {
				p.keys.proven(name)
			}
			verified.SecretIndex = i
			return verified, err
		default:
			fault = fmt.Errorf("secret %d: %w", i, err)
		}
	}
	return Verified{}, cmp.Or(fault, refused)
}

// checkPlaid takes an account or a key.
func checkPlaid(s secret.Value) error {
	_, err := readPlaidAccount(s)
	if err != nil {
		if _, noKey := readKey(s); noKey == nil {
			return nil
		}
	}
	return err
}

// noKeys finds none.
func noKeys(context.Context, string, time.Time) ([]publishedKey, error) { return nil, nil }

// key makes the key of an event. A webhook with a timestamp is told by what it
// says; the others say the same each time, so that the signed time counts too.
func (p *plaid) key(d *document) (string, error) {
	content := hashed(at("/webhook_type"), at("/webhook_code"), at(""))
	if at("/timestamp").optional(d) != "" {
		return content(d)
	}
	about, err := content(d)
	if err != nil {
		return "", err
	}
	token, err := inHeader(plaidToken).text(d)
	if err != nil {
		return "", err
	}
	var claims struct {
		IssuedAt json.Number `json:"iat"`
	}
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64URL.decode(payload)
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.IssuedAt == "" {
		return "", &EventError{Message: "header " + plaidToken + " says no time"}
	}
	return hashOf(about, claims.IssuedAt.String()), nil
}

func samplePlaid(eventType, id string, now time.Time) *Request {
	kind, code, _ := strings.Cut(cmp.Or(eventType, "TRANSACTIONS.SYNC_UPDATES_AVAILABLE"), ".")
	body := object{
		"webhook_type": kind, "webhook_code": cmp.Or(code, "UPDATE"), "item_id": cmp.Or(id, freshID("")), "environment": "production",
	}
	switch kind {
	case "TRANSACTIONS":
		body["initial_update_complete"], body["historical_update_complete"] = true, true
	case "PAYMENT_INITIATION":
		body["payment_id"], body["timestamp"] = "payment-id-production-"+freshID(""), now.UTC().Format(time.RFC3339)
		body["old_payment_status"], body["new_payment_status"] = "PAYMENT_STATUS_INITIATED", "PAYMENT_STATUS_EXECUTED"
	}
	return sampleJSON(body)
}
