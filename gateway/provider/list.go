package provider

import "strings"

// List describes a sender's API that lists its events. Package gateway/backfill queries
// it, and rebuilds from each item the request of the webhook. Places in a text are JSON
// pointers (RFC 6901), those of Endpoint gjson paths.
//
// Path and the other URLs may contain {endpoint}, {since}, {until}, {cursor}, {last}
// (the Ref of the last item) and {ref}. An empty query parameter is left out.
type List struct {
	// Base is the URL of the API; empty if each customer has one of its own.
	Base string
	// Endpoint is a regular expression that the setting `endpoint` matches; Example
	// shows one. Empty: the setting does not exist.
	Endpoint, Example string
	// Aliases replace {endpoint} if the setting is one of our own words.
	Aliases map[string]string
	// Rights are the permissions that the token needs, in the sender's words.
	Rights string
	// Scopes is the header of an answer that names the scopes of the token. Empty: none does.
	Scopes string
	// StrongToken is the prefix of a token that may do more than Rights. Empty: the
	// token does not show it.
	StrongToken string
	// Credential is the header that carries the token, as "Name: text {token}".
	Credential string
	// Headers of every request.
	Headers map[string]string
	// Account is a header that names one of several accounts that the credential sees.
	Account string
	// Rate is a number of requests per second far below the sender's limit.
	Rate float64
	// Experimental: the list relies on an unconfirmed fact.
	Experimental bool

	// Path lists the events. Empty: no list exists, only Check.
	Path string
	// Seconds: {since} and {until} are seconds since 1970 instead of RFC 3339.
	Seconds bool
	// Items is the list in an answer.
	Items string
	// Next leads to the next page.
	Next Next
	// Order is the order of the items.
	Order Order

	// Ref is the item's name at the sender, for Fetch, Redeliver and {last}.
	Ref string
	// ID and Type are those of the event, if an item does not contain the whole
	// request: Fetch loads it. Several places of Type are joined by dots, skipping
	// empty ones. Empty ID: the item has the request.
	ID   string
	Type []string
	// Time is when it happened, or was delivered. Empty: an item does not say.
	Time string
	// State is the place of the delivery's outcome: delivered if it is one of
	// Delivered, pending if it is one of Pending. Empty: an item is an event and not a
	// delivery.
	State              string
	Delivered, Pending []string

	// Fetch is the URL of one item with its request, if the list leaves that out.
	Fetch string
	// Body is the webhook's body in an item, or in the answer of Fetch: the text of a
	// JSON string, else the JSON. Wrap is the body around it, with {item} in it.
	Body, Wrap string
	// RequestHeaders are the headers of the webhook there, as an object.
	RequestHeaders string
	// Altered says how a body that contains Mark differs from the webhook's.
	Altered, Mark string
	// Redeliver is the URL that asks the sender, by POST, to deliver an item again.
	Redeliver string
	// BackDays is for how many days the sender lists an event. 0: unknown.
	BackDays int

	// Check describes our endpoint at the sender.
	Check *EndpointFacts
}

// Sliced reports whether the list can be filtered by time.
func (l *List) Sliced() bool {
	return strings.Contains(l.Path, "{since}") && strings.Contains(l.Path, "{until}")
}

// Next is how a list continues. At most one is set; if none is, the list has one page.
type Next struct {
	Link    bool   // header Link, rel="next" (RFC 8288)
	URL     string // place of the whole URL
	Cursor  string // place of {cursor}
	More    string // place of a boolean; the next page begins after {last}
	Numbers bool   // {cursor} counts pages from 1, until one is not full
	PerPage int    // of Numbers
}

// Order is the order of a list.
type Order int

// The orders of lists.
const (
	// NewestFirst lists are read in slices if they have {since}, else down to where the
	// last pass began.
	NewestFirst Order = iota
	// OldestFirst lists are read in slices.
	OldestFirst
	// Feed lists are read on from their stored cursor, and show everything after it.
	Feed
)

// EndpointFacts are the places of the sender's facts about our endpoint.
type EndpointFacts struct {
	Path    string            // of the API
	Aliases map[string]string // of Path, by the setting `endpoint`
	URL     string            // where it sends to
	On      string            // a text or boolean
	OnIs    []string          // its values while the endpoint is on
	Why     string            // why it is off, or how the last delivery failed
	Until   string            // until when
	Types   string            // the subscribed types; "*" is every one
	Version string            // of the format of its payloads
	// WhoTurnsOff explains who turns an endpoint off, and how it is turned on.
	WhoTurnsOff string
}
