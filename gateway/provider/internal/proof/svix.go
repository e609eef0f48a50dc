package proof

import (
	"cmp"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// svixRetries is the sum of the delays in Svix's retry schedule: 5 s, 5 min, 30 min, 2 h, 5 h, 10
// h, 10 h. Source: github.com/svix/svix-webhooks, server/svix-server/config.default.toml.
const svixRetries = 27*time.Hour + 35*time.Minute + 5*time.Second

// Texts for the pages of all senders that deliver through Svix.
const (
	SvixSigning = "HMAC-SHA256 over `id.time.body`, in base64, as `v1` in `svix-signature`. The id and the time are in `svix-id` and " +
		"`svix-timestamp`. Headers that begin with `webhook-` are accepted too. The secret is `whsec_` followed by the key in base64."
	SvixKeyRule = "The header `svix-id` (msg_...), which is signed and the same for every retry and replay."
	SvixReplays = "Unconfirmed: messages can be replayed for as long as the sender keeps them, 90 days by default. If you replay " +
		"messages, raise the retention of dedup rows to that time."
	SvixTries = "Svix retries seven times within 27.6 hours. A response of 410 disables the endpoint; Hooklatch never sends this " +
		"response."
)

// ViaSvix builds the provider for a sender that delivers through Svix.
func ViaSvix(o provider.Options) (*provider.Provider, error) {
	p, err := StandardWebhooks(o, SvixNames(), WebhookNames())
	if err != nil {
		return nil, err
	}
	p.Deadline, p.RetryWindow = 15*time.Second, svixRetries
	return p, nil
}

// SampleSvix builds an unsigned delivery with the message id in the header svix-id. An empty id
// means a new id.
func SampleSvix(id string, body Object) *provider.Request {
	return SampleJSON(body, SvixNames().ID, cmp.Or(id, FreshID("msg_")), "User-Agent", "Svix-Webhooks/1.82")
}
