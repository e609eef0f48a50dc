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

// catalog lists every provider there is.
func catalog() []entry {
	return []entry{
		{"stripe", []string{"tolerance"}, newStripe},
		{"github", nil, newGitHub},
		{"shopify", nil, newShopify},
		{"twilio", nil, newTwilio},
		{"slack", []string{"tolerance"}, newSlack},
		{"standard-webhooks", []string{"tolerance", "secret_encoding", "type", "occurred_at"}, newStandardWebhooks},
		{"hmac", []string{
			"tolerance", "secret_encoding", "header", "algorithm", "encoding", "prefix", "template", "timestamp_header",
			"timestamp_unit", "id_header", "signature_field", "timestamp_field", "separator", "event_id", "type", "occurred_at",
		}, newHMAC},
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
