package config

import (
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

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
	// CEL expression of what is kept in order: effects of the route with the
	// same value run one after another, as their events came. Defaults to no
	// order.
	OrderBy string `yaml:"order_by,omitempty"`
	// What a parked effect does to the later ones in its order: block holds them
	// until a person has dealt with it, skip lets them pass. Defaults to block.
	OnPark ledger.OnPark `yaml:"on_park,omitempty"`
	// CEL expression of the object the effect is about: an effect is left out
	// when that of a newer event of the same object was done before. It keeps
	// order too. Defaults to no effect being left out.
	LatestBy string `yaml:"latest_by,omitempty"`
	// Reads the object's current state before the effect is rendered, for
	// expressions and templates to use as current.
	Refetch *Refetch `yaml:"refetch,omitempty"`
	// The request, for a destination with http. Defaults to the event's own
	// body, as it came.
	HTTP *RouteHTTP `yaml:"http,omitempty"`
	// What of the delivery is forwarded beside its body, for a destination with
	// http. Defaults to its content type and the time it was received.
	Forward *RouteForward `yaml:"forward,omitempty"`
	// The mail, for a destination with smtp.
	Email *RouteEmail `yaml:"email,omitempty"`
	// The statement, for a destination with sql.
	SQL *RouteSQL `yaml:"sql,omitempty"`
}

// Refetch is how a route reads the current state of an object.
type Refetch struct {
	// CEL expression of the URL, over event, body and headers. It answers with
	// JSON of at most 1 MiB.
	URL string `yaml:"url,omitempty"`
	// destination reads with the credentials of the route's destination, if the
	// URL leads there. Defaults to no credentials but bearer.
	Auth string `yaml:"auth,omitempty"`
	// Token of an Authorization: Bearer header. It needs a url that begins with
	// a literal like "https://api.example.com/", and goes nowhere else.
	Bearer secret.Value `yaml:"bearer,omitempty"`
}

// RouteForward is what of a delivery is forwarded.
type RouteForward struct {
	// original forwards the headers of the delivery too that are the sender's
	// own, such as Stripe-Signature or X-GitHub-Event; none does not. Defaults to
	// none.
	Headers string `yaml:"headers,omitempty"`
	// Names of further headers to forward, with * for any text. Those of the
	// connection and of proxies, authorization and cookies never are. Defaults to
	// none.
	Also []string `yaml:"also,omitempty"`
	// Names of all headers to forward, in place of the sender's own and also.
	// Defaults to those.
	Allow []string `yaml:"allow,omitempty"`
}

// RouteSQL is the statement of a route.
type RouteSQL struct {
	// Name of a statement of the destination. Defaults to its only one.
	Statement string `yaml:"statement,omitempty"`
	// CEL expressions of the parameters $1, $2 and so on.
	Params []string `yaml:"params,omitempty"`
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
