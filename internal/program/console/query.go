package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/worker/route"
)

// maxValue is the maximum length of a query field, in bytes.
const maxValue = 4 << 10

// field is one field of a filter form.
type field struct {
	find.Field

	Options []string // values to choose from; nil for any text
	flag    string   // name of the command flag, if it differs from the field's name
}

// Flag returns the command flag for the field.
func (f field) Flag() string { return "--" + cmp.Or(f.flag, f.Name) }

// Wide reports whether the field's values are long.
func (f field) Wide() bool { return f.Name == "when" }

// fieldsOf returns a filter's fields. The map options contains, by field name, the values that the
// form offers for fields that accept any text.
func fieldsOf[Filter any](options map[string][]string) []field {
	var fields []field
	for _, f := range find.Fields[Filter]() {
		offered := f.Words
		if offered == nil {
			offered = options[f.Name]
		}
		fields = append(fields, field{Field: f, Options: offered})
	}
	return fields
}

// query is a list's filter, as given in the URL. Missing values are empty.
type query struct {
	fields  []field
	values  map[string]string
	Cursor  find.Cursor
	Presets []preset // links to the same list with other times; nil if there are none
	long    *invalid // a value that is too long, or nil
}

// readQuery reads the known fields from a URL. It leaves out a value that is too long and records
// it in long. Callers that act on the query must then refuse the query, because without the value
// it would select more.
func readQuery(fields []field, values url.Values) query {
	q := query{fields: fields, values: map[string]string{}, Cursor: find.Cursor(values.Get("before"))}
	for _, f := range fields {
		value := strings.TrimSpace(cmp.Or(values.Get(f.Name), values.Get(f.Former)))
		switch {
		case value == "":
		case len(value) > maxValue:
			q.long = &invalid{f.Label, strings.ToValidUTF8(value[:maxValue/64], "") + "…", fmt.Sprintf("it has %d bytes; the limit is %d bytes", len(value), maxValue)}
		default:
			q.values[f.Name] = safetext.Storable(value)
		}
	}
	return q
}

// Get returns the value of a field.
func (q query) Get(name string) string { return q.values[name] }

// given is a field with its value.
type given struct {
	field

	Value   string
	Without string // query for the same list without this field
}

// words returns the command flag for the field, with its value. A duration before now may be -36h
// in a URL, and is 36h in a flag.
func (g given) words() []string {
	value := g.Value
	if g.Name == "since" || g.Name == "until" {
		value = strings.TrimPrefix(value, "-")
	}
	return []string{g.Flag(), safetext.Shell(value)}
}

// Fields returns all fields, with their values.
func (q query) Fields() []given {
	list := make([]given, 0, len(q.fields))
	for _, f := range q.fields {
		if value := q.values[f.Name]; f.Options != nil && value != "" && !slices.Contains(f.Options, value) {
			f.Options = append(slices.Clone(f.Options), value) // a link may contain a value that the form does not offer
		}
		list = append(list, given{field: f, Value: q.values[f.Name], Without: q.without(f.Name)})
	}
	return list
}

// Given returns the fields that have a value.
func (q query) Given() []given {
	return slices.DeleteFunc(q.Fields(), func(g given) bool { return g.Value == "" })
}

// Encode returns the URL query of the list from a position on, beginning with "?" unless it is
// empty.
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

// commandOf returns the command line for a command, such as "events list", with the query as
// flags.
func (q query) commandOf(command string) string {
	words := []string{"hooklatch", command}
	for _, g := range q.Given() {
		words = append(words, g.words()...)
	}
	if q.Cursor != find.Beginning {
		words = append(words, "--cursor", safetext.Shell(string(q.Cursor)))
	}
	return strings.Join(words, " ")
}

// invalid is the error for a field that cannot be read, with the values that the field accepts.
type invalid struct{ Label, Value, Takes string }

func (i *invalid) Error() string { return i.Label + ": " + i.Takes }

// filterOf returns the filter for a query. Errors: *invalid.
func filterOf[Filter any](q query, now time.Time) (Filter, error) {
	var asked Filter
	if q.long != nil {
		return asked, q.long
	}
	for _, g := range q.Given() {
		err := find.Set(&asked, g.Name, g.Value, now)
		if wrong, is := errors.AsType[*find.ValueError](err); is {
			err = &invalid{g.Label, wrong.Value, wrong.Takes}
		}
		if err != nil {
			return asked, err
		}
	}
	return asked, nil
}

// maySearch returns an error if the user must not search payloads for the content, and otherwise
// records the search: repeated searches can reveal every value. It does nothing if the content has
// no condition. Errors: *desk.DeniedError, and errors of the database.
func maySearch(r *request, content find.Content, source identity.Source) error {
	if content.IsZero() {
		return nil
	}
	if err := r.opts.Sight.RefuseSearch(r.person, content, source); err != nil {
		return err
	}
	return noteSearch(r, content)
}

// noteSearch records a search. Hashes replace the values that the search looks for.
func noteSearch(r *request, content find.Content) error {
	concealed, _ := content.Concealed(r.person.Name)
	return r.noteRead("search: " + strings.TrimSpace(concealed.When+" "+concealed.Contains))
}

// unreadable converts a Finder's error about a condition into *invalid, or into a *problem if the
// condition was not compiled in time. It returns any other error unchanged.
func unreadable(err error) error {
	wrong, is := errors.AsType[*find.ConditionError](err)
	switch {
	case !is:
		return err
	case errors.Is(err, route.ErrCompileBusy):
		return &problem{status: http.StatusServiceUnavailable, heading: "The search did not start", text: sentence(wrong.Cause.Error()), cause: err}
	}
	return &invalid{"Condition", wrong.Text, wrong.Cause.Error()}
}

func texts[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}

// storable reports whether the database can store a text: only such a text can be found.
func storable(text string) bool { return safetext.Storable(text) == text }
