package catalog

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// headerFamilies are the headers by which each sender signs and describes its
// deliveries, beside the content type; "*" stands for any run of characters. A
// sender without any puts everything into the body or the URL. Headers that
// somebody on the way may set under the same prefix are named one by one.
func headerFamilies() map[string][]string {
	hub := []string{"X-Hub-Signature*"} // WebSub's, which several senders took over
	svix := []string{"Svix-*", "Webhook-*"}
	return map[string][]string{
		"adyen":             {},
		"auth0":             {},
		"aws-sns":           {"X-Amz-Sns-*"},
		"basic":             {},
		"bitbucket":         append([]string{"X-Attempt-Number", "X-Event-Key", "X-Hook-Uuid", "X-Request-Id", "X-Request-Uuid"}, hub...),
		"braintree":         {},
		"calendly":          {"Calendly-*"},
		"clerk":             svix,
		"coinbase":          {"X-Cc-*"},
		"discord":           {"X-Signature-Ed25519", "X-Signature-Timestamp"},
		"docusign":          {"X-Docusign-*"},
		"dropbox":           {"X-Dropbox-*"},
		"github":            append([]string{"X-Github-*"}, hub...),
		"gitlab":            {"Idempotency-Key", "Webhook-*", "X-Gitlab-*"},
		"gocardless":        {"Webhook-Signature"},
		"google-pubsub":     {"X-Goog-Pubsub-*"},
		"hmac":              {},
		"hubspot":           {"X-Hubspot-*"},
		"intercom":          hub,
		"jira":              append([]string{"X-Atlassian-Webhook-*"}, hub...),
		"jwt":               {},
		"line":              {"X-Line-*"},
		"linear":            {"Linear-*"},
		"mailgun":           {},
		"meta":              hub,
		"microsoft-graph":   {},
		"mollie":            {"X-Mollie-*"},
		"mux":               {"Mux-*"},
		"okta":              {"X-Okta-*"},
		"openai":            {"Webhook-*"},
		"paddle":            {"Paddle-*"},
		"pagerduty":         {"X-Pagerduty-*", "X-Webhook-Id"},
		"paypal":            {"Paypal-*"},
		"plaid":             {"Plaid-*"},
		"postmark":          {},
		"razorpay":          {"X-Razorpay-*"},
		"resend":            svix,
		"sanity":            {"Idempotency-Key", "Sanity-*"},
		"sendgrid":          {"X-Twilio-Email-Event-Webhook-*"},
		"sentry":            {"Request-Id", "Sentry-Hook-*"},
		"shopify":           {"Shopify-*", "X-Shopify-*"},
		"slack":             {"X-Slack-*"},
		"square":            {"Square-*", "X-Square-*"},
		"standard-webhooks": svix,
		"stripe":            {"Stripe-*"},
		"svix":              svix,
		"telegram":          {"X-Telegram-*"},
		"token":             {},
		"twilio":            {"I-Twilio-*", "X-Twilio-*"},
		"twitch":            {"Twitch-Eventsub-*"},
		"typeform":          {"Typeform-*"},
		"vercel":            {"X-Vercel-Signature"},
		"whatsapp":          hub,
		"workos":            {"Workos-*"},
		"x":                 {"X-Twitter-Webhooks-*"},
		"zendesk":           {"X-Zendesk-*"},
		"zoom":              {"X-Zm-*"},
	}
}

// headersIn lists the headers that the options name, in canonical form.
func headersIn(o provider.Options) []string {
	header, numbered := strings.CutSuffix(o.Header, "-{n}")
	names := []string{header, o.TimestampHeader, o.IDHeader, o.Type.Header, o.EventID.Header}
	if numbered {
		names[0] += "-*"
	}
	for _, f := range proof.Places(slices.Concat(o.EventID.Join, o.EventID.Fields, o.EventID.Optional)) {
		names = append(names, f.Header)
	}
	for i, name := range names {
		names[i] = http.CanonicalHeaderKey(name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}
