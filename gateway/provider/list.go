package provider

import "strings"

// List is what a sender's own API says of the events it made, as data: package
// gateway/backfill asks it, and makes of each item the request that the webhook would have
// been. Places in a text are JSON pointers (RFC 6901), those of Endpoint gjson paths.
//
// Path and the other URLs may contain {endpoint}, {since}, {until}, {cursor}, {last} (the
// Ref of the last item) and {ref}. A parameter of a query that would be empty is left out.
type List struct {
	// Base is the URL of the API; empty where each customer has one of its own.
	Base string
	// Endpoint is a regular expression that the setting `endpoint` matches; Example shows
	// one. Empty: there is no such setting.
	Endpoint, Example string
	// Aliases stand for {endpoint} where the setting is a word of ours.
	Aliases map[string]string
	// Rights are what the token must be allowed, in the words of the sender.
	Rights string
	// StrongToken is what a token begins with that may do more than Rights. Empty: a token
	// does not tell.
	StrongToken string
	// Credential is the header that carries the token, as "Name: text {token}".
	Credential string
	// Headers of every request.
	Headers map[string]string
	// Account is a header that names one of several accounts that the credential sees.
	Account string
	// Rate is how many requests a second stay far below what the sender allows.
	Rate float64
	// Experimental: it rests on something that nobody has confirmed.
	Experimental bool

	// Path lists the events. Empty: there is no list, only Check.
	Path string
	// Seconds: {since} and {until} are seconds since 1970, not texts (RFC 3339).
	Seconds bool
	// Items is the list in an answer.
	Items string
	// Next leads to the next page.
	Next Next
	// Order in which items come.
	Order Order

	// Ref is the name of an item at the sender: of Fetch, Redeliver, and {last}.
	Ref string
	// ID and Type are those of the event where an item does not have all of the request:
	// Fetch brings that. Several places of Type are joined by dots, as far as there is
	// something. Empty ID: the item has the request.
	ID   string
	Type []string
	// Time is when it happened, or was delivered. Empty: an item does not say.
	Time string
	// State says how the delivery went: Delivered when it is this text, Pending when the
	// sender still tries. Where there is none, an item is an event and not a delivery.
	State              string
	Delivered, Pending []string

	// Fetch is the URL of one item with its request, where the list leaves that out.
	Fetch string
	// Body is the body of the webhook in an item, or in what Fetch brings: the text of a
	// JSON string, else the JSON. Wrap makes it of that, with {item} in it.
	Body, Wrap string
	// RequestHeaders are the headers of the webhook there, as an object.
	RequestHeaders string
	// Altered says in what a body that contains Mark differs from that of the webhook.
	Altered, Mark string
	// Redeliver is where the sender is asked, by POST, to deliver an item once more.
	Redeliver string
	// BackDays is for how many days the sender lists an event. 0: it does not say.
	BackDays int

	// Check is our endpoint as the sender has it.
	Check *EndpointFacts
}

// Sliced reports whether the list can be asked for a time.
func (l *List) Sliced() bool {
	return strings.Contains(l.Path, "{since}") && strings.Contains(l.Path, "{until}")
}

// Next is how a list goes on. At most one is set; without any, a list has one page.
type Next struct {
	Link    bool   // header Link, rel="next" (RFC 8288)
	URL     string // place of the whole URL
	Cursor  string // place of {cursor}
	More    string // place of a boolean; the next page begins behind {last}
	Numbers bool   // {cursor} counts pages from 1, until one is not full
	PerPage int    // of Numbers
}

// Order is the order of a list.
type Order int

// The orders of lists.
const (
	// NewestFirst: a list with {since} is asked for slices, one without is read down to
	// where the last pass began.
	NewestFirst Order = iota
	// OldestFirst: in slices.
	OldestFirst
	// Feed: its cursor is kept, and what it shows from there on is all there is.
	Feed
)

// EndpointFacts are where a sender says how it is about our endpoint.
type EndpointFacts struct {
	Path    string            // of the API
	Aliases map[string]string // of Path, by the setting `endpoint`
	URL     string            // where it sends to
	On      string            // a text or boolean
	OnIs    []string          // its values while the endpoint is on
	Why     string            // why it is off, or how the last delivery failed
	Until   string            // until when
	Types   string            // the types it is subscribed to; "*" is every one
	Version string            // of the format of its payloads
	// WhoTurnsOff says in plain words who turns an endpoint off, and how it is turned on.
	WhoTurnsOff string
}
