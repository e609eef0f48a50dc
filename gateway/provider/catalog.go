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
		{"basic", eventOptions, newBasic},
		{"github", nil, newGitHub},
		{"hmac", slices.Concat(hmacOptions, eventOptions), newHMAC},
		{"jwt", slices.Concat(jwtOptions, eventOptions), newJWT},
		{"shopify", nil, newShopify},
		{"slack", []string{"tolerance"}, newSlack},
		{"standard-webhooks", []string{"tolerance", "secret_encoding", "type", "occurred_at"}, newStandardWebhooks},
		{"stripe", []string{"tolerance"}, newStripe},
		{"token", append([]string{"header", "prefix", "query"}, eventOptions...), newToken},
		{"twilio", nil, newTwilio},
	}
}

// examples are options for the providers that cannot be made without any, as
// the configuration spells them. The pages of docs/providers show them.
func examples() map[string]string {
	return map[string]string{
		"basic": "event_id: {pointer: /id}",
		"hmac":  "header: X-Signature\nevent_id: {pointer: /id}",
		"jwt":   "jwks_url: https://issuer.example.com/.well-known/jwks.json\naudience: https://hooks.example.com/webhooks/jwt\nevent_id: {pointer: /id}",
		"token": "event_id: {pointer: /id}",
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
