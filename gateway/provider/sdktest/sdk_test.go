// Package sdktest verifies that we sign, verify and list events as the providers' own SDKs do. It
// is a separate module, so that Hooklatch itself depends on no SDK.
package sdktest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/PaddleHQ/paddle-go-sdk/v4"
	"github.com/PagerDuty/go-pagerduty/webhookv3"
	"github.com/bwmarrin/discordgo"
	"github.com/google/go-github/v75/github"
	"github.com/line/line-bot-sdk-go/v8/linebot/webhook"
	"github.com/mailgun/mailgun-go/v4"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	razorpay "github.com/razorpay/razorpay-go/utils"
	"github.com/resend/resend-go/v3"
	"github.com/sendgrid/sendgrid-go/helpers/eventwebhook"
	"github.com/slack-go/slack"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	stripe "github.com/stripe/stripe-go/v83/webhook"
	svix "github.com/svix/svix-webhooks/go"
	"github.com/twilio/twilio-go/client"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	textSecret = "a shared secret of the test"
	whsec      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// sdk describes how one SDK handles a request.
type sdk struct {
	slug   string
	module string // the Go module that contains the SDK
	secret string // the key with which we sign
	// accepts reports whether the SDK considers the request genuine.
	accepts func(t *testing.T, r *provider.Request, key string) bool
	// sign makes the SDK sign the request. Nil: the SDK cannot sign.
	sign func(t *testing.T, r *provider.Request, key string, now time.Time)
}

// httpRequest converts r to a net/http request.
func httpRequest(t *testing.T, r *provider.Request) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL.String(), bytes.NewReader(r.Body))
	require.NoError(t, err)
	request.Header = r.Header.Clone()
	return request
}

func sdks(t *testing.T) []sdk {
	t.Helper()
	_, discordKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	sendgridKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	sendgridDER, err := x509.MarshalPKCS8PrivateKey(sendgridKey)
	require.NoError(t, err)
	return []sdk{
		{"stripe", "github.com/stripe/stripe-go/v83", textSecret, func(_ *testing.T, r *provider.Request, key string) bool {
			return stripe.ValidatePayload(r.Body, r.Header.Get("Stripe-Signature"), key) == nil
		}, func(_ *testing.T, r *provider.Request, key string, now time.Time) {
			signed := stripe.GenerateTestSignedPayload(&stripe.UnsignedPayload{Payload: r.Body, Secret: key, Timestamp: now})
			r.Header.Set("Stripe-Signature", signed.Header)
		}},
		{"github", "github.com/google/go-github/v75", textSecret, func(t *testing.T, r *provider.Request, key string) bool {
			_, err := github.ValidatePayload(httpRequest(t, r), []byte(key))
			return err == nil
		}, nil},
		{"twilio", "github.com/twilio/twilio-go", textSecret, func(t *testing.T, r *provider.Request, key string) bool {
			form, err := url.ParseQuery(string(r.Body))
			require.NoError(t, err)
			params := make(map[string]string, len(form))
			for name := range form {
				params[name] = form.Get(name)
			}
			validator := client.NewRequestValidator(key)
			return validator.Validate(r.URL.String(), params, r.Header.Get("X-Twilio-Signature"))
		}, nil},
		{"standard-webhooks", "github.com/standard-webhooks/standard-webhooks/libraries", whsec, func(t *testing.T, r *provider.Request, key string) bool {
			wh, err := standardwebhooks.NewWebhook(key)
			require.NoError(t, err)
			return wh.Verify(r.Body, r.Header) == nil
		}, func(t *testing.T, r *provider.Request, key string, now time.Time) {
			wh, err := standardwebhooks.NewWebhook(key)
			require.NoError(t, err)
			signature, err := wh.Sign(r.Header.Get("Webhook-Id"), now, r.Body)
			require.NoError(t, err)
			r.Header.Set("Webhook-Timestamp", timestamp(now))
			r.Header.Set("Webhook-Signature", signature)
		}},
		{"svix", "github.com/svix/svix-webhooks", whsec, acceptedBySvix, signedBySvix},
		{"clerk", "github.com/svix/svix-webhooks", whsec, acceptedBySvix, signedBySvix},
		{"resend", "github.com/resend/resend-go/v3", whsec, func(_ *testing.T, r *provider.Request, key string) bool {
			return resend.NewClient("unused").Webhooks.Verify(&resend.VerifyWebhookOptions{
				Payload: string(r.Body),
				Headers: resend.WebhookHeaders{
					Id:        r.Header.Get("Svix-Id"),
					Timestamp: r.Header.Get("Svix-Timestamp"),
					Signature: r.Header.Get("Svix-Signature"),
				},
				WebhookSecret: key,
			}) == nil
		}, signedBySvix},
		{"openai", "github.com/openai/openai-go/v3", whsec, func(_ *testing.T, r *provider.Request, key string) bool {
			api := openai.NewClient(option.WithAPIKey("unused"), option.WithWebhookSecret(key))
			return api.Webhooks.VerifySignature(r.Body, r.Header) == nil
		}, nil},
		{"slack", "github.com/slack-go/slack", textSecret, func(t *testing.T, r *provider.Request, key string) bool {
			verifier, err := slack.NewSecretsVerifier(r.Header, key)
			require.NoError(t, err)
			_, err = verifier.Write(r.Body)
			require.NoError(t, err)
			return verifier.Ensure() == nil
		}, nil},
		{"line", "github.com/line/line-bot-sdk-go/v8", textSecret, func(_ *testing.T, r *provider.Request, key string) bool {
			return webhook.ValidateSignature(key, r.Header.Get("X-Line-Signature"), r.Body)
		}, nil},
		{"pagerduty", "github.com/PagerDuty/go-pagerduty", textSecret, func(t *testing.T, r *provider.Request, key string) bool {
			return webhookv3.VerifySignature(httpRequest(t, r), key) == nil
		}, nil},
		{"razorpay", "github.com/razorpay/razorpay-go", textSecret, func(_ *testing.T, r *provider.Request, key string) bool {
			return razorpay.VerifyWebhookSignature(string(r.Body), r.Header.Get("X-Razorpay-Signature"), key)
		}, nil},
		{"paddle", "github.com/PaddleHQ/paddle-go-sdk/v4", textSecret, func(t *testing.T, r *provider.Request, key string) bool {
			accepted, err := paddle.NewWebhookVerifier(key).Verify(httpRequest(t, r))
			return err == nil && accepted
		}, nil},
		{"mailgun", "github.com/mailgun/mailgun-go/v4", textSecret, func(t *testing.T, r *provider.Request, key string) bool {
			var payload mailgun.WebhookPayload
			require.NoError(t, json.Unmarshal(r.Body, &payload))
			mg := mailgun.NewMailgun("example.com", "unused")
			mg.SetWebhookSigningKey(key)
			accepted, err := mg.VerifyWebhookSignature(payload.Signature)
			return err == nil && accepted
		}, nil},
		{"discord", "github.com/bwmarrin/discordgo", hex.EncodeToString(discordKey), func(t *testing.T, r *provider.Request, _ string) bool {
			return discordgo.VerifyInteraction(httpRequest(t, r), discordKey.Public().(ed25519.PublicKey))
		}, nil},
		{"sendgrid", "github.com/sendgrid/sendgrid-go", base64.StdEncoding.EncodeToString(sendgridDER), func(_ *testing.T, r *provider.Request, _ string) bool {
			accepted, err := eventwebhook.VerifySignature(&sendgridKey.PublicKey, r.Body,
				r.Header.Get(eventwebhook.VerificationHTTPHeader), r.Header.Get(eventwebhook.TimestampHTTPHeader))
			return err == nil && accepted
		}, nil},
	}
}

// The SDK accepts a request that Hooklatch signs, and refuses it if its body was changed
// afterwards.
func TestSDKsAcceptWhatWeSign(t *testing.T) {
	t.Parallel()
	for _, s := range sdks(t) {
		t.Run(s.slug, func(t *testing.T) {
			t.Parallel()
			p, r := sample(t, s.slug)
			require.NoError(t, p.Sign(r, secret.New(s.secret), time.Now()))
			require.True(t, s.accepts(t, r, s.secret))

			tampered := *r
			tampered.Body = tamper(s.slug, r.Body)
			require.False(t, s.accepts(t, &tampered, s.secret), "the SDK accepts anything")
		})
	}
}

// Hooklatch accepts a request that the SDK signs, and refuses it if its body was changed
// afterwards.
func TestWeAcceptWhatSDKsSign(t *testing.T) {
	t.Parallel()
	for _, s := range sdks(t) {
		if s.sign == nil {
			continue
		}
		t.Run(s.slug, func(t *testing.T) {
			t.Parallel()
			p, r := sample(t, s.slug)
			now := time.Now()
			s.sign(t, r, s.secret, now)
			secrets := []secret.Value{secret.New("whsec_b3RoZXI="), secret.New(s.secret)}
			verified, err := p.Verify(t.Context(), r, secrets, now)
			require.NoError(t, err)
			require.Equal(t, 1, verified.SecretIndex)
			events, err := p.Events(r)
			require.NoError(t, err)
			require.NotEmpty(t, events)

			r.Body = tamper(s.slug, r.Body)
			_, err = p.Verify(t.Context(), r, secrets, now)
			require.Error(t, err)
		})
	}
}

func sample(t *testing.T, slug string) (*provider.Provider, *provider.Request) {
	t.Helper()
	p, err := catalog.New(slug, provider.Options{})
	require.NoError(t, err)
	r := p.Sample("", "", time.Now())
	r.URL, err = url.Parse("https://hooks.example.com/webhooks/" + slug)
	require.NoError(t, err)
	return p, r
}

// tamper changes one byte in the signed text.
func tamper(slug string, body []byte) []byte {
	body = slices.Clone(body)
	at := len(body) - 1
	if slug == "mailgun" { // only the token and the time are signed
		at = bytes.Index(body, []byte(`"token":"`)) + len(`"token":"`)
	}
	if body[at] == 'x' {
		body[at] = 'y'
	} else {
		body[at] = 'x'
	}
	return body
}

func acceptedBySvix(t *testing.T, r *provider.Request, key string) bool {
	t.Helper()
	wh, err := svix.NewWebhook(key)
	require.NoError(t, err)
	return wh.Verify(r.Body, r.Header) == nil
}

func signedBySvix(t *testing.T, r *provider.Request, key string, now time.Time) {
	t.Helper()
	wh, err := svix.NewWebhook(key)
	require.NoError(t, err)
	signature, err := wh.Sign(r.Header.Get("Svix-Id"), now, r.Body)
	require.NoError(t, err)
	r.Header.Set("Svix-Timestamp", timestamp(now))
	r.Header.Set("Svix-Signature", signature)
}
