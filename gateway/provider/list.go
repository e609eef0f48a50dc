package provider

import "strings"

// List describes a sender's API that lists its events. Package gateway/backfill queries the
// API and rebuilds the webhook's request from each item. Locations are JSON pointers (RFC
// 6901); those in EndpointFacts are gjson paths.
//
// Path and the other URLs may contain {endpoint}, {since}, {until}, {cursor}, {last} and {ref}.
// {last} is the Ref of the last item, and {ref} is the Ref of the item to fetch or redeliver. A
// query parameter with an empty value is left out.
type List struct {
	// Base is the API's URL, or empty if each customer has a separate one.
	Base string
	// Endpoint is a regular expression that the setting `endpoint` must match; Example is a
	// valid value. Empty: the setting does not exist.
	Endpoint, Example string
	// Aliases maps values of the setting that are our own words, such as app, to the values of
	// {endpoint} that they stand for.
	Aliases map[string]string
	// Rights are the permissions that the token needs, in the sender's words.
	Rights string
	// Scopes is the response header that lists the token's scopes. Empty: no such header
	// exists.
	Scopes string
	// StrongToken is the prefix of a token with more permissions than Rights. Empty: tokens do
	// not show their permissions.
	StrongToken string
	// Credential is the header that carries the token, as "Name: text {token}".
	Credential string
	// Headers are sent with every request.
	Headers map[string]string
	// Account is a header that selects one of several accounts that the credential can see.
	Account string
	// Rate is the default maximum number of requests per second, far below the sender's limit. 0:
	// the sender's limit is unknown, and the default is 1.
	Rate float64
	// Experimental is true if the list relies on an unconfirmed fact.
	Experimental bool

	// Path is the URL that lists the events. Empty: the API has no such list, and is used only for
	// Check.
	Path string
	// Seconds is true if {since} and {until} are seconds since 1970 instead of RFC 3339.
	Seconds bool
	// Items is the location of the list in a response.
	Items string
	// Next describes how the list continues after a page.
	Next Next
	// Order is the order in which the API returns the items.
	Order Order

	// Ref is the location of the item's name at the sender, for Fetch, Redeliver and {last}.
	Ref string
	// ID and Type are the locations of the event's id and type if an item does not contain the
	// complete request, which Fetch then loads. If Type lists several locations, their
	// non-empty values are joined by dots. Empty ID: the item contains the request.
	ID   string
	Type []string
	// Time is the location of the event's or the delivery's time. Empty: items have no time.
	Time string
	// State is the location of the delivery's outcome. A value that matches an entry of Delivered
	// means delivered; a final * in the entry stands for any text. A value in Pending means
	// pending, and any other value means failed. Empty: an item is an event, not a delivery.
	State              string
	Delivered, Pending []string

	// Fetch is the URL of one item with its request, if the list omits the request.
	Fetch string
	// Body is the location of the webhook's body in an item or in Fetch's response. A JSON string
	// contains the body; any other JSON value is the body. If Wrap is set, the webhook's body is
	// Wrap with the text from this location in place of {item}.
	Body, Wrap string
	// RequestHeaders is the location of the webhook's headers, an object.
	RequestHeaders string
	// Altered explains how a body that contains Mark differs from the webhook's body.
	Altered, Mark string
	// Redeliver is the URL to which a POST makes the sender deliver an item again.
	Redeliver string
	// BackDays is the number of days for which the sender lists an event. 0: unknown.
	BackDays int

	// Check describes where the API shows our endpoint. Nil: the endpoint is not checked.
	Check *EndpointFacts
}

// Sliced reports whether the list can be limited to a period, with a start and an end.
func (l *List) Sliced() bool {
	return strings.Contains(l.Path, "{since}") && strings.Contains(l.Path, "{until}")
}

// Next describes how a list continues. At most one field is set, besides PerPage; if none is, the
// list has one page.
type Next struct {
	Link    bool   // true for the header Link, rel="next" (RFC 8288)
	URL     string // location of the next page's complete URL
	Cursor  string // location of {cursor}
	More    string // location of a boolean; the next page begins after {last}
	Numbers bool   // true if {cursor} counts pages from 1, until a page is not full
	PerPage int    // page size for Numbers
}

// Order is the order in which an API returns a list's items.
type Order int

// Values of Order.
const (
	// NewestFirst lists are read in slices if Sliced is true. Otherwise they are read from the
	// newest item back to the item with which the previous pass began.
	NewestFirst Order = iota
	// OldestFirst lists are read in slices.
	OldestFirst
	// Feed lists are read from their stored cursor on, and show everything after it.
	Feed
)

// EndpointFacts are the locations of the sender's information about our endpoint.
type EndpointFacts struct {
	Path    string            // API path
	Aliases map[string]string // paths that replace Path, by the value of the setting `endpoint`
	URL     string            // the URL to which the sender sends
	On      string            // whether the endpoint is on, as a string or a boolean
	OnIs    []string          // values at On while the endpoint is on
	Why     string            // why the endpoint is off, or why the last delivery failed
	Until   string            // end of the period for which the endpoint is off
	Types   string            // the subscribed types; "*" means every type
	Version string            // version of the payload format
	// WhoTurnsOff explains who turns an endpoint off, in complete sentences.
	WhoTurnsOff string
}
