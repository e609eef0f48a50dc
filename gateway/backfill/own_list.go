package backfill

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/option"
)

// OwnList is the list of your own service, or of a provider whose list Hooklatch does not
// know. Locations are JSON pointers (RFC 6901); an empty pointer is the whole document.
type OwnList struct {
	// URL that lists the events. {since} and {until} are times, {cursor} leads to the next
	// page, and {last} is the ref of the last item. An empty parameter is left out. Without
	// {since} and {until} the list is read from its newest event backwards. Required.
	URL string `yaml:"url,omitempty"`
	// Header that carries the token. Defaults to Authorization: Bearer {token}.
	Credential string `yaml:"credential,omitempty"`
	// Location of the list in a response. Defaults to the whole response.
	Items string `yaml:"items,omitempty"`
	// Location of the webhook's body in an item: a JSON value, or its text. Defaults to the
	// whole item.
	Body string `yaml:"body,omitempty"`
	// Location of the webhook's headers in an item, as an object. Defaults to none.
	Headers string `yaml:"headers,omitempty"`
	// Location of the time in an item: RFC 3339, or seconds or milliseconds since 1970.
	// Required.
	Time string `yaml:"time,omitempty"`
	// Location of the item's unique name. Required with {last}.
	Ref string `yaml:"ref,omitempty"`
	// Location of the next page's cursor or URL. With {last}: location of a boolean that is true
	// if more items follow. Defaults to the header Link.
	Next string `yaml:"next,omitempty"`
	// Order of the list: newest_first, oldest_first or feed. A feed has a cursor, which is
	// stored, and shows the events after the cursor. Defaults to newest_first.
	Order string `yaml:"order,omitempty"`
	// If true, {since} and {until} are seconds since 1970 instead of RFC 3339. Defaults to
	// false.
	Seconds bool `yaml:"seconds,omitempty"`
}

// Orders returns the values of OwnList.Order.
func Orders() []string { return []string{"newest_first", "oldest_first", "feed"} }

// list builds the provider's list from the settings.
func (o OwnList) list() *provider.List {
	l := &provider.List{
		Credential: cmp.Or(o.Credential, "Authorization: Bearer {token}"), Seconds: o.Seconds, Items: o.Items, Time: o.Time, Ref: o.Ref,
		Body: o.Body, RequestHeaders: o.Headers, Path: strings.TrimPrefix(o.URL, o.base()),
	}
	switch {
	case strings.Contains(o.URL, "{last}"):
		l.Next.More = o.Next
	case o.Next == "":
		l.Next.Link = true
	case strings.Contains(o.URL, "{cursor}"):
		l.Next.Cursor = o.Next
	default:
		l.Next.URL = o.Next
	}
	switch o.Order {
	case "oldest_first":
		l.Order = provider.OldestFirst
	case "feed":
		l.Order = provider.Feed
	}
	return l
}

// base returns the scheme and host of the list's URL.
func (o OwnList) base() string {
	scheme, rest, _ := strings.Cut(o.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

func (o OwnList) check(c *option.Check) {
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(o.URL))
	switch {
	case o.URL == "":
		c.Missing("list.url", "is not given; it is the URL that lists the events")
	case err != nil || u.Host == "":
		c.Failf("list.url", o.URL, "is not a URL")
	case strings.Contains(o.URL, "{last}") && (o.Ref == "" || o.Next == ""):
		c.Failf("list.url", o.URL, "has {last}: also set `ref`, the JSON pointer to the name of an item, and `next`, the JSON pointer to a boolean that is true if more items follow")
	case o.Order == "oldest_first" && !(strings.Contains(o.URL, "{since}") && strings.Contains(o.URL, "{until}")):
		c.Failf("list.url", o.URL, "needs {since} and {until} for a list that shows the oldest event first")
	}
	if o.Time == "" {
		c.Missing("list.time", "is not given; it is the JSON pointer to the time of an item")
	}
	for _, place := range []struct{ field, text string }{
		{"items", o.Items}, {"body", o.Body}, {"headers", o.Headers}, {"time", o.Time}, {"ref", o.Ref}, {"next", o.Next},
	} {
		if place.text != "" && !strings.HasPrefix(place.text, "/") {
			c.Failf("list."+place.field, place.text, "is not a JSON pointer, which begins with /")
		}
	}
	if o.Order != "" {
		c.OneOf("list.order", "order", o.Order, Orders()...)
	}
}
