package sender

import (
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// StandardWebhooks declares senders that follow the Standard Webhooks specification and have no
// separate declaration. The provider also accepts the headers of Svix, where the scheme was
// invented. Source: github.com/standard-webhooks/standard-webhooks, spec and libraries.
func StandardWebhooks(o provider.Options) (*provider.Provider, error) {
	return proof.StandardWebhooks(o, proof.WebhookNames(), proof.SvixNames())
}
