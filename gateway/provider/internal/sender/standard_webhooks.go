package sender

import (
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// StandardWebhooks declares all senders that follow the Standard Webhooks specification or
// Svix, its origin: Clerk, Resend, OpenAI, ... Source:
// github.com/standard-webhooks/standard-webhooks, spec and libraries.
func StandardWebhooks(o provider.Options) (*provider.Provider, error) {
	return proof.StandardWebhooks(o, proof.WebhookNames(), proof.SvixNames())
}
