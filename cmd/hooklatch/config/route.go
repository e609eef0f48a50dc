package config

// Route says which events lead to which effect at which destination. Its
// conditions, keys and scalar fields are CEL expressions over event, body,
// headers and current; mail bodies are Go templates.
type Route struct {
	// Name of the route; part of the key of its effects, so a new name makes
	// new effects. The rule for names is that of sources.
	Name string `yaml:"name,omitempty"`
	// Source or sources whose events it takes, or "*" for all.
	From []string `yaml:"from,omitempty"`
	// Event types it takes, with * for any text: invoice.*. Defaults to all.
	Types []string `yaml:"types,omitempty"`
	// CEL condition that an event must meet. Defaults to true.
	When string `yaml:"when,omitempty"`
	// Name of the destination.
	To string `yaml:"to,omitempty"`
	// CEL expression of the business key of the effect: a later event with the
	// same key has no effect of its own. Defaults to the id of the event.
	Key string `yaml:"key,omitempty"`
	// The request, for a destination with http. Defaults to the event's own
	// body, as it came.
	HTTP *RouteHTTP `yaml:"http,omitempty"`
	// The mail, for a destination with smtp.
	Email *RouteEmail `yaml:"email,omitempty"`
}

// RouteHTTP is the request of a route.
type RouteHTTP struct {
	// Method of the request. Defaults to that of the destination.
	Method string `yaml:"method,omitempty"`
	// CEL expression of the URL. Defaults to that of the destination.
	URL string `yaml:"url,omitempty"`
	// CEL expression of the body, sent as JSON. Defaults to the event's own
	// body, as it came.
	Body string `yaml:"body,omitempty"`
	// CEL expressions of further headers, by header name.
	Headers map[string]string `yaml:"headers,omitempty"`
}

// RouteEmail is the mail of a route.
type RouteEmail struct {
	// CEL expression of the recipient's address.
	Recipient string `yaml:"recipient,omitempty"`
	// Go template of the subject.
	Subject string `yaml:"subject,omitempty"`
	// Go template of the text body. At least one of text and html is given.
	Text string `yaml:"text,omitempty"`
	// Go template of the HTML body.
	HTML string `yaml:"html,omitempty"`
}
