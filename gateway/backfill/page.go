package backfill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// errLimit ends a pass that found as many missing events as its Order allows.
var errLimit = errors.New("the limit of missing events is reached")

// errBudget ends a pass that used up its time.
var errBudget = errors.New("the pass has used up its time")

// query selects a page.
type query struct {
	since, until time.Time
	cursor, last string
}

type page struct {
	items []Item
	next  string // cursor or URL of the next page; empty after the last page
}

// expand fills in one of the list's URL templates. It omits parameters with empty values.
func (p *pass) expand(template string, q query, ref string) string {
	endpoint := p.source.Settings.Endpoint
	if alias := p.list.Aliases[endpoint]; alias != "" {
		endpoint = alias
	}
	stamp := func(t time.Time) string {
		switch {
		case t.IsZero():
			return ""
		case p.list.Seconds:
			return strconv.FormatInt(t.Unix(), 10)
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	values := []string{"{endpoint}", endpoint, "{since}", stamp(q.since), "{until}", stamp(q.until), "{cursor}", q.cursor, "{last}", q.last}
	path, parameters, _ := strings.Cut(template, "?")
	path = strings.NewReplacer(append(values, "{ref}", url.PathEscape(ref))...).Replace(path)
	var kept []string
	for parameter := range strings.SplitSeq(parameters, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if filled := strings.NewReplacer(values...).Replace(value); filled != "" {
			kept = append(kept, name+"="+url.QueryEscape(filled))
		}
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + strings.Join(kept, "&")
}

// page reads one page. A cursor that is a URL is itself the page's address.
func (p *pass) page(ctx context.Context, q query) (page, error) {
	if !p.readUntil.IsZero() && time.Now().After(p.readUntil) {
		return page{}, errBudget
	}
	address := q.cursor
	if !p.list.Next.Link && p.list.Next.URL == "" || q.cursor == "" {
		address = p.expand(p.list.Path, q, "")
	}
	a, err := p.call(ctx, http.MethodGet, address)
	if err != nil {
		return page{}, err
	}
	found := jsonpointer.Lookup(a.body, p.list.Items)
	if !found.IsArray() {
		return page{}, fmt.Errorf("the response has no list at %q", p.list.Items)
	}
	var out page
	for _, raw := range found.Array() {
		item, err := p.item(raw)
		if err != nil {
			return page{}, err
		}
		out.items = append(out.items, item)
	}
	out.next = p.next(a, q, out.items)
	return out, nil
}

// next returns the URL, cursor or number of the list's next page or, with Next.More, the ref of the
// last item. It returns "" after the last page.
func (p *pass) next(a answer, q query, items []Item) string {
	switch n := p.list.Next; {
	case n.Link:
		return linkTo(a.header, "next")
	case n.URL != "":
		return jsonpointer.Lookup(a.body, n.URL).String()
	case n.Cursor != "":
		return jsonpointer.Lookup(a.body, n.Cursor).String()
	case n.More != "" && len(items) > 0 && jsonpointer.Lookup(a.body, n.More).Bool():
		return items[len(items)-1].Ref
	case n.Numbers && len(items) >= n.PerPage:
		number, _ := strconv.Atoi(q.cursor) // an empty cursor means the first page
		return strconv.Itoa(max(number, 1) + 1)
	}
	return ""
}

// after returns the query for the following page.
func (p *pass) after(q query, next string) query {
	if p.list.Next.More != "" {
		q.last = next
	} else {
		q.cursor = next
	}
	return q
}

var link = regexp.MustCompile(`<([^>]*)>((?:\s*;[^,<]*)*)`)

// linkTo returns the target of the Link header (RFC 8288) with the given relation.
func linkTo(header http.Header, relation string) string {
	for _, value := range header.Values("Link") {
		for _, match := range link.FindAllStringSubmatch(value, -1) {
			for parameter := range strings.SplitSeq(match[2], ";") {
				if name, is, _ := strings.Cut(strings.TrimSpace(parameter), "="); name == "rel" && strings.Trim(is, `"`) == relation {
					return match[1]
				}
			}
		}
	}
	return ""
}

// whole matches a number that is an identifier. Identifiers remain text, because GitHub's numbers
// do not fit into a float.
var whole = regexp.MustCompile(`^-?[0-9]+$`)

// textAt returns the text or whole number at a JSON pointer, or "" if it finds neither. Any other
// number is an error.
func textAt(root gjson.Result, place string) (string, error) {
	found := jsonpointer.Lookup(root, place)
	if found.Type == gjson.Number {
		if !whole.MatchString(found.Raw) {
			return "", fmt.Errorf("%s is the number %.30s, not an identifier", place, found.Raw)
		}
		return found.Raw, nil
	}
	if found.Type == gjson.String {
		return found.Str, nil
	}
	return "", nil
}

// timeAt returns the time at a JSON pointer: seconds or milliseconds since 1970, or RFC 3339.
func timeAt(root gjson.Result, place string) (time.Time, error) {
	found := jsonpointer.Lookup(root, place)
	switch found.Type {
	case gjson.Number:
		if found.Num >= 1e11 {
			return time.UnixMilli(int64(found.Num)).UTC(), nil
		}
		return time.Unix(int64(found.Num), 0).UTC(), nil
	case gjson.String:
		if at, err := time.Parse(time.RFC3339Nano, found.Str); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("an item has no time at %s", place)
}

// item reads one item in the list. If the item contains its complete request, item also rebuilds
// that request: see shape.
func (p *pass) item(raw gjson.Result) (Item, error) {
	i := Item{raw: raw}
	var err error
	if i.Ref, err = textAt(raw, p.list.Ref); err != nil {
		return i, err
	}
	if p.list.Time != "" {
		if i.At, err = timeAt(raw, p.list.Time); err != nil {
			return i, err
		}
	}
	if p.list.State != "" {
		i.State = stateOf(jsonpointer.Lookup(raw, p.list.State).String(), p.list)
	}
	if p.list.ID == "" {
		err := p.shape(&i, raw)
		return i, err
	}
	id, err := textAt(raw, p.list.ID)
	if err != nil || id == "" {
		return i, errors.Join(fmt.Errorf("an item has no id at %s", p.list.ID), err)
	}
	var parts []string
	for _, place := range p.list.Type {
		if part, err := textAt(raw, place); err == nil && part != "" {
			parts = append(parts, part)
		}
	}
	i.Events = []provider.Event{{ID: id, Type: strings.Join(parts, "."), OccurredAt: i.At}}
	return i, nil
}

func stateOf(text string, list *provider.List) State {
	for _, one := range list.Delivered {
		if text == one || strings.HasSuffix(one, "*") && strings.HasPrefix(text, strings.TrimSuffix(one, "*")) {
			return Delivered
		}
	}
	if slices.Contains(list.Pending, text) {
		return Pending
	}
	return Failed
}
