package proof

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// WebhookNames returns the headers in the specification of Standard Webhooks.
func WebhookNames() HeaderNames {
	return HeaderNames{Signature: "Webhook-Signature", Timestamp: "Webhook-Timestamp", ID: "Webhook-Id"}
}

// SvixNames returns the headers of Svix, which invented the scheme.
func SvixNames() HeaderNames {
	return HeaderNames{Signature: "Svix-Signature", Timestamp: "Svix-Timestamp", ID: "Svix-Id"}
}

// StandardScheme declares the HMAC scheme of Standard Webhooks for some header families. Sign uses
// the first family unless the request uses another one.
func StandardScheme(key KeySpelling, tolerance time.Duration, headers ...HeaderNames) *Scheme {
	return &Scheme{
		Headers:   headers,
		Pairs:     &Pairs{Separator: " ", Assign: ",", Signature: "v1"},
		Hash:      sha256.New,
		Encoding:  Base64,
		Template:  Template{InID, ".", InTimestamp, ".", InBody},
		Secret:    key,
		Unit:      Seconds,
		Tolerance: tolerance,
	}
}

const whsecPrefix = "whsec_"

// StandardSecret returns the spelling of a key in Standard Webhooks.
func StandardSecret() KeySpelling { return KeySpelling{Encoding: Base64, Prefix: whsecPrefix} }

// StandardWebhooks builds the provider for senders that follow the specification and use the given
// header families. The declaration of a named sender then replaces the fields that differ.
func StandardWebhooks(o provider.Options, headers ...HeaderNames) (*provider.Provider, error) {
	spelling, err := OneOf("secret_encoding", o.SecretEncoding, string(Base64), string(Base64), string(Raw))
	if err != nil {
		return nil, err
	}
	kind, fallback, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	occurred := Clock{Pointer: "/timestamp"}
	if o.OccurredAt != (provider.Clock{}) {
		if err := validateClock("occurred_at", o.OccurredAt); err != nil {
			return nil, err
		}
		occurred = clockOf(o.OccurredAt)
	}
	key := StandardSecret()
	if spelling == string(Raw) {
		key = KeySpelling{Encoding: Raw}
	}
	key.Readings = NewReadings(StandardSecret(), KeySpelling{Encoding: Raw})
	s := standardSchemes(key, Tolerance(o, StandardTolerance), headers...)
	return &provider.Provider{
		Name:           "standard-webhooks",
		Title:          "Standard Webhooks",
		HeaderFamilies: []string{"Svix-*", "Webhook-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation | provider.Vector | provider.SDK,
				EventID:     provider.Documentation,
				Handshake:   provider.NoSuchThing,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over `id.time.body`, in base64, as `v1` in `webhook-signature`. The id and the time are in `webhook-id` " +
				"and `webhook-timestamp`. Headers that begin with `svix-` are accepted too. The secret is `whsec_` followed by the key in " +
				"base64; with `secret_encoding: raw`, the text of the secret is the key. A sender may instead use Ed25519 over the same " +
				"text, as `v1a`. The secret is then `whpk_` followed by the sender's public key in base64.",
			KeyRule: "The header `webhook-id` (or `svix-id`), which is signed and the same for every retry.",
			Setup: []string{
				"Give the sender {url} as the endpoint URL.",
				"Copy the signing secret of that endpoint (`whsec_...`), or the public key of the sender (`whpk_...`).",
			},
			Notes: []string{
				"Many senders use this scheme. Senders with a separate provider have other retry times.",
				"The specification allows bodies in any format. If the body is not JSON, the type is `unknown`, unless `type` names a header.",
				"Secrets and public keys may be mixed, and a sender may sign with several: one valid signature is enough.",
				"Some senders use the text of the secret as the key, without decoding it. For such a sender, set `secret_encoding: raw` " +
					"for all secrets of a source, or write one secret as `{value: ..., encoding: raw}`. If a signature would match with " +
					"another encoding, the log names that encoding.",
				"Senders that keep messages for a long time can replay them after the minimum retention of dedup rows. Raise the " +
					"retention for such senders.",
			},
			Backfill: "Use the sender's own API, if it has one.",
			Docs:     "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
		},
		Verify: s.verify,
		Events: func(r *provider.Request) ([]provider.Event, error) {
			// The id is in the header family whose signature was verified.
			id := Verbatim(Field{Header: s.shared.Names(r.Header).ID})
			return Facts{ID: id, Kind: kind, Fallback: fallback, Occurred: occurred}.Events(r)
		},
		CheckSecret: s.checkSecret,
		SecretAs:    key.SecretAs,
		Sign:        s.sign,
		Sample: func(eventType, id string, now time.Time) *provider.Request {
			d := newDraft()
			d.put(At("/data"), Object{"id": "user_1", "email": "ada@example.com", "name": "Ada Lovelace"})
			d.put(At("/timestamp"), now.UTC().Format(time.RFC3339Nano))
			d.put(At("/type"), cmp.Or(eventType, "user.created"))
			d.put(kind, cmp.Or(eventType, "user.created"))
			d.put(InHeader(headers[0].ID), cmp.Or(id, FreshID("msg_")))
			d.putTime(occurred, now)
			return d.request()
		},
		ReplayToken: s.replayToken,
		Deadline:    15 * time.Second,
		RetryWindow: 75*time.Hour + 35*time.Minute, // the specification's longest schedule; senders differ
	}, nil
}

// Prefixes with which Standard Webhooks spells the keys of a pair.
const (
	whpkPrefix = "whpk_" // public key, configured as a source's secret
	whskPrefix = "whsk_" // private key, which only the sender has
)

// standardSigned declares both schemes of Standard Webhooks: HMAC (v1) and Ed25519 (v1a). They sign
// the same text, and one header may contain signatures of both. A secret's prefix selects the
// scheme.
type standardSigned struct {
	shared *Scheme // v1
	paired *Scheme // v1a
}

// standardSchemes declares both schemes for some header families.
func standardSchemes(key KeySpelling, tolerance time.Duration, headers ...HeaderNames) *standardSigned {
	shared := StandardScheme(key, tolerance, headers...)
	paired := *shared
	paired.Pairs = &Pairs{Separator: " ", Assign: ",", Signature: "v1a"}
	paired.Hash, paired.Secret, paired.Public = nil, KeySpelling{}, standardKeys()
	return &standardSigned{shared: shared, paired: &paired}
}

// isPaired reports whether a secret is half of a key pair.
func isPaired(s secret.Value) bool {
	return strings.HasPrefix(s.Reveal(), whpkPrefix) || strings.HasPrefix(s.Reveal(), whskPrefix)
}

// of returns the scheme that a secret is for.
func (s *standardSigned) of(v secret.Value) *Scheme {
	if isPaired(v) {
		return s.paired
	}
	return s.shared
}

// verify tries both schemes, each with its own secrets. If neither verifies the request, verify
// returns the error of a scheme whose signature matched. If no signature matched, it prefers the
// error of a scheme that found a signature of its own kind.
func (s *standardSigned) verify(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
	var refused error
	for _, scheme := range []*Scheme{s.shared, s.paired} {
		var own []secret.Value
		var index []int
		for i, v := range secrets {
			if s.of(v) == scheme {
				own, index = append(own, v), append(index, i)
			}
		}
		if len(own) == 0 && (len(secrets) > 0 || scheme == s.paired) {
			continue
		}
		verified, err := scheme.Verify(ctx, r, own, now)
		if err == nil {
			verified.SecretIndex = index[verified.SecretIndex]
			return verified, nil
		}
		if refused == nil || isReason(refused, provider.ReasonMissingSignature, provider.ReasonWrongSignature) && !isReason(err, provider.ReasonMissingSignature) {
			refused = err
		}
	}
	return provider.Verified{}, refused
}

func isReason(err error, reasons ...provider.Reason) bool {
	refused, ok := errors.AsType[*provider.VerifyError](err)
	return ok && slices.Contains(reasons, refused.Reason)
}

func (s *standardSigned) checkSecret(v secret.Value) error {
	if isPaired(v) {
		return s.paired.CheckSecret(v)
	}
	return s.shared.Secret.Check(v)
}

func (s *standardSigned) sign(r *provider.Request, key secret.Value, now time.Time) error {
	return s.of(key).Sign(r, key, now)
}

// replayToken returns the same token for both schemes, because they sign the same text.
func (s *standardSigned) replayToken(r *provider.Request) string {
	if token := s.shared.ReplayToken(r); token != "" {
		return token
	}
	return s.paired.ReplayToken(r)
}

// standardKeys declares Ed25519 with Standard Webhooks' key format. A private key is its seed,
// optionally followed by the public key.
func standardKeys() *KeyPair {
	public, private := KeySpelling{Encoding: Base64, Prefix: whpkPrefix}, KeySpelling{Encoding: Base64, Prefix: whskPrefix}
	pair := Ed25519Keys(public)
	pair.Read = func(v secret.Value) (any, error) {
		if !strings.HasPrefix(v.Reveal(), whskPrefix) {
			return readPublicKey(public, v)
		}
		key, err := private.Key(v)
		switch {
		case err != nil:
			return nil, err
		case len(key) == ed25519.SeedSize:
			return ed25519.NewKeyFromSeed(key), nil
		case len(key) == ed25519.PrivateKeySize && ed25519.NewKeyFromSeed(key[:ed25519.SeedSize]).Equal(ed25519.PrivateKey(key)):
			return ed25519.PrivateKey(key), nil
		}
		return nil, errors.New("the secret is not whsk_ followed by an Ed25519 private key")
	}
	return pair
}

func readPublicKey(spelling KeySpelling, v secret.Value) (crypto.PublicKey, error) {
	key, err := spelling.Key(v)
	if err != nil {
		return nil, err
	}
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("the key has %d bytes; an Ed25519 public key has %d", len(key), ed25519.PublicKeySize)
	}
	return ed25519.PublicKey(key), nil
}
