package provider

// newStandardWebhooks knows every sender of the Standard Webhooks
// specification, and of Svix, where it comes from: Clerk, Resend, OpenAI, ...
// Source: github.com/standard-webhooks/standard-webhooks, spec and libraries.
func newStandardWebhooks(o Options) (*Provider, error) {
	return standardWebhooks(o, webhookNames(), svixNames())
}
