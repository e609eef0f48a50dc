// Package catalog lists the available providers, builds them for sources and describes them
// for operators.
package catalog

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/sender"
)

// entry is one provider: its slug, its accepted options and its constructor.
type entry struct {
	name    string
	accepts []string // its own options, by their configuration name
	make    func(o provider.Options) (*provider.Provider, error)
}

// entries lists every provider, in alphabetical order.
func entries() []entry {
	return []entry{
		{"adyen", nil, sender.Adyen},
		{"auth0", []string{"header"}, sender.Auth0},
		{"aws-sns", nil, sender.SNS},
		{"basic", generic(proof.EventOptions), sender.Basic},
		{"bitbucket", nil, sender.Bitbucket},
		{"braintree", nil, sender.Braintree},
		{"calendly", []string{"tolerance"}, sender.Calendly},
		{"circleci", nil, sender.CircleCI},
		{"clerk", []string{"tolerance"}, sender.Clerk},
		{"coinbase", nil, sender.Coinbase},
		{"discord", []string{"tolerance"}, sender.Discord},
		{"docusign", nil, sender.DocuSign},
		{"dropbox", nil, sender.Dropbox},
		{"github", nil, sender.GitHub},
		{"gitlab", []string{"tolerance"}, sender.GitLab},
		{"gocardless", nil, sender.GoCardless},
		{"google-pubsub", []string{"audience", "claims", "type"}, sender.GooglePubSub},
		{"hmac", generic(sender.HmacOptions, proof.EventOptions), sender.HMAC},
		{"hubspot", []string{"tolerance"}, sender.HubSpot},
		{"intercom", nil, sender.Intercom},
		{"jira", nil, sender.Jira},
		{"jwt", generic(sender.JwtOptions, proof.EventOptions), sender.JWT},
		{"line", nil, sender.LINE},
		{"linear", []string{"tolerance"}, sender.Linear},
		{"mailgun", []string{"tolerance"}, sender.Mailgun},
		{"meta", []string{"verify_token"}, sender.Meta},
		{"microsoft-graph", []string{"app_ids", "tenants"}, sender.MicrosoftGraph},
		{"mollie", nil, sender.Mollie},
		{"mux", []string{"tolerance"}, sender.Mux},
		{"okta", []string{"header"}, sender.Okta},
		{"openai", []string{"tolerance", "secret_encoding"}, sender.OpenAI},
		{"paddle", []string{"tolerance"}, sender.Paddle},
		{"pagerduty", nil, sender.PagerDuty},
		{"paypal", []string{"tolerance"}, sender.PayPal},
		{"plaid", nil, sender.Plaid},
		{"postmark", nil, sender.Postmark},
		{"razorpay", nil, sender.Razorpay},
		{"resend", []string{"tolerance"}, sender.Resend},
		{"sanity", []string{"tolerance"}, sender.Sanity},
		{"sendgrid", []string{"tolerance"}, sender.SendGrid},
		{"sentry", nil, sender.Sentry},
		{"shopify", nil, sender.Shopify},
		{"slack", []string{"tolerance"}, sender.Slack},
		{"square", nil, sender.Square},
		{"standard-webhooks", generic([]string{"tolerance", "secret_encoding", "type", "occurred_at"}), sender.StandardWebhooks},
		{"stripe", []string{"tolerance"}, sender.Stripe},
		{"svix", generic([]string{"tolerance", "type", "occurred_at"}), sender.Svix},
		{"telegram", nil, sender.Telegram},
		{"token", generic([]string{"header", "prefix", "query"}, proof.EventOptions), sender.Token},
		{"twilio", nil, sender.Twilio},
		{"twitch", []string{"tolerance"}, sender.Twitch},
		{"typeform", nil, sender.Typeform},
		{"vercel", nil, sender.Vercel},
		{"whatsapp", []string{"verify_token"}, sender.WhatsApp},
		{"workos", []string{"tolerance"}, sender.WorkOS},
		{"x", nil, sender.X},
		{"zendesk", []string{"tolerance"}, sender.Zendesk},
		{"zoom", []string{"tolerance"}, sender.Zoom},
	}
}

// generic returns the options of a generic provider: the given ones, and those for the endpoint
// (answer and probe). A generic provider serves any sender that uses its scheme.
func generic(options ...[]string) []string {
	return append(slices.Concat(options...), proof.EndpointOptions...)
}

// examples returns example options in YAML for the providers that require options. The pages
// in docs/providers show them.
func examples() map[string]string {
	return map[string]string{
		"basic":         "event_id: {pointer: /id}",
		"google-pubsub": "claims: {email: push@my-project.iam.gserviceaccount.com}",
		"hmac":          "header: X-Signature\nevent_id: {pointer: /id}",
		"jwt":           "jwks_url: https://issuer.example.com/.well-known/jwks.json\naudience: https://hooks.example.com/webhooks/jwt\nevent_id: {pointer: /id}",
		"token":         "event_id: {pointer: /id}",
	}
}

// New builds a source's provider. It returns an *OptionError if the name is unknown or the provider
// does not accept an option. It also does so if a value is not allowed or a required option is
// missing.
func New(name string, opts provider.Options) (*provider.Provider, error) {
	for _, e := range entries() {
		if e.name != name {
			continue
		}
		if err := e.acceptOnly(opts); err != nil {
			return nil, err
		}
		p, err := e.make(opts)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(e.accepts, "event_id") {
			if err := proof.Override(p, opts); err != nil {
				return nil, err
			}
		}
		p.Challenge = cmp.Or(p.Challenge, provider.SignatureChallenge)
		if p.Methods == nil {
			p.Methods = []string{http.MethodPost}
		}
		if err := proof.SetEndpoint(p, opts); err != nil {
			return nil, err
		}
		p.CheckSecret = proof.NotGuessable(p.CheckSecret)
		p.HeaderFamilies = slices.Concat(p.HeaderFamilies, headersIn(opts))
		return p, nil
	}
	return nil, &provider.OptionError{Field: "provider", Value: name, Allowed: "must be one of " + strings.Join(Names(), ", ")}
}

// Description is the information that an operator needs to configure a source.
type Description struct {
	// Provider is built with the options in Example. It is only a description, and must not
	// receive deliveries.
	*provider.Provider

	// Options lists the names of the accepted options, in alphabetical order.
	Options []string
	// Example is YAML with example values for the required options. It is empty if no option
	// is required.
	Example string
}

// Describe returns the description of the named provider, or an *OptionError for an unknown name.
func Describe(name string) (Description, error) {
	d := Description{Example: examples()[name]}
	var opts provider.Options
	if err := yaml.Unmarshal([]byte(d.Example), &opts); err != nil {
		return d, fmt.Errorf("read the example of %s: %w", name, err)
	}
	var err error
	if d.Provider, err = New(name, opts); err != nil {
		return d, err
	}
	for _, e := range entries() {
		if e.name == name {
			d.Options = e.options()
		}
	}
	return d, nil
}

// Names lists the providers in alphabetical order.
func Names() []string {
	var names []string
	for _, e := range entries() {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}
