package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
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
		{"auth0", nil, newAuth0},
		{"aws-sns", nil, newSNS},
		{"basic", eventOptions, newBasic},
		{"bitbucket", nil, newBitbucket},
		{"braintree", nil, newBraintree},
		{"calendly", []string{"tolerance"}, newCalendly},
		{"clerk", []string{"tolerance"}, newClerk},
		{"coinbase", nil, newCoinbase},
		{"discord", []string{"tolerance"}, newDiscord},
		{"docusign", nil, newDocuSign},
		{"dropbox", nil, newDropbox},
		{"github", nil, newGitHub},
		{"gitlab", []string{"tolerance"}, newGitLab},
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
		{"meta", []string{"verify_token"}, newMeta},
		{"microsoft-graph", nil, newMicrosoftGraph},
		{"mollie", nil, newMollie},
		{"mux", []string{"tolerance"}, newMux},
		{"okta", []string{"header"}, newOkta},
		{"openai", []string{"tolerance", "secret_encoding"}, newOpenAI},
		{"paddle", []string{"tolerance"}, newPaddle},
		{"pagerduty", nil, newPagerDuty},
		{"paypal", []string{"tolerance"}, newPayPal},
		{"plaid", nil, newPlaid},
		{"postmark", nil, newPostmark},
		{"razorpay", nil, newRazorpay},
		{"resend", []string{"tolerance"}, newResend},
		{"sanity", []string{"tolerance"}, newSanity},
		{"sendgrid", []string{"tolerance"}, newSendGrid},
		{"sentry", nil, newSentry},
		{"shopify", nil, newShopify},
		{"slack", []string{"tolerance"}, newSlack},
		{"square", nil, newSquare},
		{"standard-webhooks", []string{"tolerance", "secret_encoding", "type", "occurred_at"}, newStandardWebhooks},
		{"stripe", []string{"tolerance"}, newStripe},
		{"svix", []string{"tolerance", "type", "occurred_at"}, newSvix},
		{"telegram", nil, newTelegram},
		{"token", append([]string{"header", "prefix", "query"}, eventOptions...), newToken},
		{"twilio", nil, newTwilio},
		{"twitch", []string{"tolerance"}, newTwitch},
		{"typeform", nil, newTypeform},
		{"vercel", nil, newVercel},
		{"whatsapp", []string{"verify_token"}, newWhatsApp},
		{"workos", []string{"tolerance"}, newWorkOS},
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
		if err := acceptOnly(opts, name, e.accepts); err != nil {
			return nil, err
		}
		p, err := e.make(opts)
		if err != nil {
			return nil, err
		}
		p.CheckSecret = notGuessable(p.CheckSecret)
		p.HeaderFamilies = slices.Concat(headerFamilies()[name], headersIn(opts))
		return p, nil
	}
	return nil, &OptionError{Field: "provider", Value: name, Allowed: "must be one of " + strings.Join(Names(), ", ")}
}

// Description is what a person must know to configure a source.
type Description struct {
	// Provider is made with the options of Example. It is to be read, not to
	// receive with.
	*Provider

	// Options are the names of the options it takes, in alphabetical order.
	Options []string
	// Example is YAML with the options that are required, as they may be set.
	// Empty: none is.
	Example string
}

// Describe describes a provider. An unknown name is an *OptionError.
func Describe(name string) (Description, error) {
	d := Description{Example: examples()[name]}
	var opts Options
	if err := yaml.Unmarshal([]byte(d.Example), &opts); err != nil {
		return d, fmt.Errorf("read the example of %s: %w", name, err)
	}
	var err error
	if d.Provider, err = New(name, opts); err != nil {
		return d, err
	}
	for _, e := range catalog() {
		if e.name == name {
			d.Options = slices.Sorted(slices.Values(e.accepts))
		}
	}
	return d, nil
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
