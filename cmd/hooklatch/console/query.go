package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/signin"
	"github.com/hooklatch/hooklatch/outbox/condition"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/worker/route"
)

// maxValue bounds what one field of a query holds, in bytes.
const maxValue = 4 << 10

// field is one thing that a list can be asked for: in the URL, in the form, and as a
// flag of the command that lists the same.
type field struct {
	Name    string // in the URL
	Label   string
	Flag    string // of the command
	Hint    string
	Options []string // nil: any text
	Wide    bool
}

// query is what a list is asked for, as the URL says it. A value that is not given is
// empty.
type query struct {
	fields []field
	values map[string]string
	Cursor find.Cursor
}

// readQuery takes the fields it knows from a URL.
func readQuery(fields []field, values url.Values) query {
	q := query{fields: fields, values: map[string]string{}, Cursor: find.Cursor(values.Get("before"))}
	for _, f := range fields {
		if value := strings.TrimSpace(values.Get(f.Name)); value != "" && len(value) <= maxValue {
			q.values[f.Name] = safetext.Storable(value)
		}
	}
	return q
}

// Get is the value of a field.
func (q query) Get(name string) string { return q.values[name] }

// given is a field with what was asked of it.
type given struct {
	field

	Value   string
	Without string // query of the same list without it
}

// Fields are all of them.
func (q query) Fields() []given {
	list := make([]given, 0, len(q.fields))
	for _, f := range q.fields {
		if value := q.values[f.Name]; f.Options != nil && value != "" && !slices.Contains(f.Options, value) {
			f.Options = append(slices.Clone(f.Options), value) // a link may ask for more than the form offers
		}
		list = append(list, given{field: f, Value: q.values[f.Name], Without: q.without(f.Name)})
	}
	return list
}

// Given are those that something is asked of.
func (q query) Given() []given {
	return slices.DeleteFunc(q.Fields(), func(g given) bool { return g.Value == "" })
}

// Encode is the query of the URL, as from a place.
func (q query) Encode(from find.Cursor) string {
	values := url.Values{}
	for name, value := range q.values {
		values.Set(name, value)
	}
	if from != find.Beginning {
		values.Set("before", string(from))
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

func (q query) without(name string) string {
	left := query{fields: q.fields, values: map[string]string{}}
	for other, value := range q.values {
		if other != name {
			left.values[other] = value
		}
	}
	return left.Encode(find.Beginning)
}

// commandOf has a query as the flags of a command, like "events list".
func (q query) commandOf(command string) string {
	words := []string{"hooklatch", command}
	for _, g := range q.Given() {
		words = append(words, g.Flag, safetext.Shell(strings.TrimPrefix(g.Value, "-")))
	}
	if q.Cursor != find.Beginning {
		words = append(words, "--cursor", safetext.Shell(string(q.Cursor)))
	}
	return strings.Join(words, " ")
}

// invalid says which field cannot be read, and what it takes.
type invalid struct{ Label, Value, Takes string }

func (i *invalid) Error() string { return i.Label + ": " + i.Takes }

// time reads a point in time: RFC 3339, a day in UTC, or a while ago like -24h.
func (q query) time(name, label string, now time.Time) (time.Time, error) {
	text := q.values[name]
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if ago, err := time.ParseDuration(strings.TrimPrefix(text, "-")); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, &invalid{label, text, "times are like 2026-11-21T08:00:00Z, 2026-11-21, which is UTC, or -24h"}
}

// match reads the condition of a query on events, and writes down who looks for it: answer
// by answer it tells every value. Errors: *invalid and *problem.
func (c *Console) match(r *http.Request, q query) (*find.Match, error) {
	ctx, text := r.Context(), q.values["when"]
	if text == "" {
		return nil, nil
	}
	compiled, err := c.conditions.Compile(ctx, text)
	switch {
	case errors.Is(err, route.ErrCompileBusy):
		return nil, &problem{status: http.StatusServiceUnavailable, heading: "The search did not begin", text: sentence(err.Error()), cause: err}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &invalid{"Condition", text, err.Error()}
	}
	concealed, _ := condition.Concealed(text, signin.PersonOf(ctx).Name)
	if err := c.noteRead(r, "search: "+concealed); err != nil {
		return nil, err
	}
	return &find.Match{By: compiled.Match, Text: compiled.DemandedText()}, nil
}

// oneOf reads a field that takes some words only.
func oneOf[T ~string](q query, name, label string, allowed []T) (T, error) {
	given := T(q.values[name])
	if given == "" || slices.Contains(allowed, given) {
		return given, nil
	}
	return "", &invalid{label, string(given), "allowed are " + strings.Join(texts(allowed), ", ")}
}

func texts[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}

// storable reports whether a text can stand in the database, so that it can be looked
// for.
func storable(text string) bool { return safetext.Storable(text) == text }
