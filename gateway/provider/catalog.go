package provider

import (
	"slices"
	"strings"
)

// entry is one provider we know: its slug, the options it takes and how it is
// made.
type entry struct {
	name    string
	accepts []string // options, by their name in the configuration
	make    func(o Options) (*Provider, error)
}

// catalog lists every provider there is, in alphabetical order.
func catalog() []entry {
	return []entry{
		{"adyen", nil, newAdyen},
		{"aws-sns", nil, newSNS},
		{"basic", eventOptions, newBasic},
		{"braintree", nil, newBraintree},
		{"calendly", []string{"tolerance"}, newCalendly},
		{"coinbase", nil, newCoinbase},
		{"docusign", nil, newDocuSign},
		{"dropbox", nil, newDropbox},
		{"github", nil, newGitHub},
		{"gocardless", nil, newGoCardless},
		{"google-pubsub", []string{"audience", "claims", "type"}, newGooglePubSub},
		{"hmac", slices.Concat(hmacOptions, eventOptions), newHMAC},
		{"hubspot", []string{"tolerance"}, newHubSpot},
		{"intercom", nil, newIntercom},
		{"jira", nil, newJira},
		{"jwt", slices.Concat(jwtOptions, eventOptions), newJWT},
		{"line", nil, newLINE},
		{"linear", []string{"tolerance"}, newLinear},
		{"mailgun", []string{"tolerance"}, newMailgun},
		{"microsoft-graph", nil, newMicrosoftGraph},
		{"mollie", nil, newMollie},
		{"mux", []string{"tolerance"}, newMux},
		{"pagerduty", nil, newPagerDuty},
		{"plaid", nil, newPlaid},
		{"postmark", nil, newPostmark},
		{"razorpay", nil, newRazorpay},
		{"sanity", []string{"tolerance"}, newSanity},
		{"sendgrid", []string{"tolerance"}, newSendGrid},
		{"sentry", nil, newSentry},
		{"shopify", nil, newShopify},
		{"slack", []string{"tolerance"}, newSlack},
		{"standard-webhooks", []string{"tolerance", "secret_encoding", "type", "occurred_at"}, newStandardWebhooks},
		{"stripe", []string{"tolerance"}, newStripe},
		{"token", append([]string{"header", "prefix", "query"}, eventOptions...), newToken},
		{"twilio", nil, newTwilio},
		{"twitch", []string{"tolerance"}, newTwitch},
		{"typeform", nil, newTypeform},
		{"vercel", nil, newVercel},
		{"x", nil, newX},
		{"zendesk", []string{"tolerance"}, newZendesk},
		{"zoom", []string{"tolerance"}, newZoom},
	}
}

// examples are options for the providers that cannot be made without any, as
// the configuration spells them. The pages of docs/providers show them.
func examples() map[string]string {
	return map[string]string{
		"basic":         "event_id: {pointer: /id}",
		"google-pubsub": "claims: {email: push@my-project.iam.gserviceaccount.com}",
		"hmac":          "header: X-Signature\nevent_id: {pointer: /id}",
		"jwt":           "jwks_url: https://issuer.example.com/.well-known/jwks.json\naudience: https://hooks.example.com/webhooks/jwt\nevent_id: {pointer: /id}",
		"token":         "event_id: {pointer: /id}",
	}
}

// New makes the provider of a source. An unknown name, an option that the
// provider does not take and a value that is not allowed are an *OptionError.
func New(name string, opts Options) (*Provider, error) {
	for _, e := range catalog() {
		if e.name != name {
			continue
		}
		if err := opts.only(name, e.accepts); err != nil {
			return nil, err
		}
		return e.make(opts)
	}
	return nil, &OptionError{Field: "provider", Value: name, Allowed: "must be one of " + strings.Join(Names(), ", ")}
}

// Names lists the providers in alphabetical order.
func Names() []string {
	var names []string
	for _, e := range catalog() {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}
