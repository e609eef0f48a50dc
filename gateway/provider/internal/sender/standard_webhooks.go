package sender

import (
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// StandardWebhooks declares every sender of the Standard Webhooks specification, and of
// Svix, its origin: Clerk, Resend, OpenAI, ...
// Source: github.com/standard-webhooks/standard-webhooks, spec and libraries.
func StandardWebhooks(o provider.Options) (*provider.Provider, error) {
	return proof.StandardWebhooks(o, proof.WebhookNames(), proof.SvixNames())
}
