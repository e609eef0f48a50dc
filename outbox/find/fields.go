package find

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Field is one field of a filter: a flag of a command, and a parameter in a URL.
type Field struct {
	Name   string // name of the flag and of the URL parameter
	Former string // former name of the URL parameter; empty: none
	Label  string // label in a form
	Hint   string // an example value
	// Help completes a phrase that begins with "those". The value's name is in single quotes.
	Help  string
	Words []string // the allowed values; nil: any text
	Many  bool     // takes several values, separated by commas

	template string // template of Help
	index    []int
}

// Narrowed returns f with only some of its words allowed.
func (f Field) Narrowed(words []string) Field {
	f.Words, f.Help = words, fmt.Sprintf(f.template, inWords(words))
	return f
}

// ValueError is returned when a field does not accept a value.
type ValueError struct {
	Name, Value string
	Takes       string // what the field accepts, or why it does not accept the value
}

// Error implements error.
func (e *ValueError) Error() string { return fmt.Sprintf("%s %q: %s", e.Name, e.Value, e.Takes) }

// Fields returns the fields of Events, Effects or Actions, in the order of the struct.
func Fields[Filter any]() []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Filter]()) {
		name := f.Tag.Get("find")
		if name == "" {
			continue
		}
		field := Field{
			Name: name, Former: f.Tag.Get("former"), Label: f.Tag.Get("label"), Hint: f.Tag.Get("hint"), Help: f.Tag.Get("help"),
			Words: wordsOf(f.Type), Many: f.Type.Kind() == reflect.Slice, index: f.Index,
		}
		switch {
		case field.Words != nil:
			field.template = field.Help
			field = field.Narrowed(field.Words)
		case name == "since":
			field.Help = came[Filter]() + " at or after this 'time', such as 2026-11-21 or 36h (before now)"
		case name == "until":
			field.Help = came[Filter]() + " before this 'time'"
		}
		if slices.Contains(field.Words, string(Attention)) {
			field.Help += "; attention is " + inWords(texts(NeedAttention()))
		}
		fields = append(fields, field)
	}
	return fields
}

// came returns the participle for the time by which Span filters: received, created or requested.
func came[Filter any]() string {
	switch any(*new(Filter)).(type) {
	case Events:
		return "received"
	case Effects:
		return "created"
	}
	return "requested"
}

// wordsOf returns the allowed values of a field's type; nil: any text.
func wordsOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[inbox.Outcome]():
		return texts(inbox.Outcomes())
	case reflect.TypeFor[[]ledger.EffectState]():
		return append(texts(ledger.EffectStates()), string(Attention))
	case reflect.TypeFor[[]EffectsIn]():
		return append(texts(effectsIn()), string(Attention))
	case reflect.TypeFor[ledger.Policy]():
		return texts([]ledger.Policy{ledger.AtLeastOnce, ledger.AtMostOnce})
	case reflect.TypeFor[[]Attribute]():
		return texts([]Attribute{Duplicates, Differs, Retry, Suspect})
	}
	return nil
}

func texts[T ~string](of []T) []string {
	words := make([]string, len(of))
	for i, word := range of {
		words[i] = string(word)
	}
	return words
}

func inWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Set sets a field from a user's text. A field that accepts several values keeps the earlier
// values. A time is RFC 3339, a day, or a duration before now. An empty value changes nothing.
// Errors: *ValueError.
func Set[Filter any](asked *Filter, name, value string, now time.Time) error {
	if value == "" {
		return nil
	}
	fields := Fields[Filter]()
	at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return &ValueError{name, value, "no such field exists"}
	}
	f := fields[at]
	into := reflect.ValueOf(asked).Elem().FieldByIndex(f.index)
	values := []string{value}
	if f.Many {
		values = strings.Split(value, ",")
	}
	if !utf8.ValidString(value) {
		return &ValueError{name, value, "it is not UTF-8"}
	}
	for _, value := range values {
		if f.Words != nil && !slices.Contains(f.Words, value) {
			return &ValueError{name, value, "allowed are " + strings.Join(f.Words, ", ")}
		}
		switch target := into.Addr().Interface().(type) {
		case *time.Time:
			at, ok := Time(value, now)
			if !ok {
				return &ValueError{name, value, Times}
			}
			*target = at
		case *identity.EventRef:
			source, id, found := strings.Cut(value, "/")
			if !found || source == "" || id == "" {
				return &ValueError{name, value, "it must be SOURCE/EVENT_ID, such as stripe/evt_123"}
			}
			*target = identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
		case *[]ledger.EffectState:
			more := []ledger.EffectState{ledger.EffectState(value)}
			if ledger.EffectState(value) == Attention {
				more = NeedAttention()
			}
			*target = append(*target, more...)
		case *[]EffectsIn:
			more := []EffectsIn{EffectsIn(value)}
			if value == string(Attention) {
				more = nil
				for _, state := range NeedAttention() {
					more = append(more, EffectsIn(state))
				}
			}
			*target = append(*target, more...)
		case *[]Attribute:
			*target = append(*target, Attribute(value))
		default:
			into.SetString(safetext.Storable(value))
		}
	}
	return nil
}

// Times describes the accepted forms of a point in time.
const Times = "allowed are a time such as 2026-11-21T08:00:00Z, a day such as 2026-11-21 (UTC), or a duration before now such as 36h"

// Time parses a point in time in the forms that Times describes.
func Time(text string, now time.Time) (at time.Time, ok bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	if ago, err := time.ParseDuration(strings.TrimPrefix(text, "-")); err == nil && ago > 0 {
		return now.Add(-ago), true
	}
	return time.Time{}, false
}

// Value is a field with its value in a filter.
type Value struct {
	Field

	Text string // in the form that Set parses
}

// Given returns the fields of a filter that are set.
func Given[Filter any](asked Filter) []Value {
	var given []Value
	of := reflect.ValueOf(asked)
	for _, f := range Fields[Filter]() {
		value := of.FieldByIndex(f.index)
		if value.IsZero() {
			continue
		}
		v := Value{Field: f}
		switch what := value.Interface().(type) {
		case time.Time:
			v.Text = what.UTC().Format(time.RFC3339Nano)
		case fmt.Stringer:
			v.Text = what.String()
		case []ledger.EffectState:
			v.Text = strings.Join(texts(what), ",")
		case []EffectsIn:
			v.Text = strings.Join(texts(what), ",")
		case []Attribute:
			v.Text = strings.Join(texts(what), ",")
		default:
			v.Text = value.String()
		}
		given = append(given, v)
	}
	return given
}

// Storable returns asked with its texts changed, if necessary, so that the database can store them.
func Storable[Filter any](asked Filter) Filter {
	into := reflect.ValueOf(&asked).Elem()
	for _, f := range Fields[Filter]() {
		if field := into.FieldByIndex(f.index); field.Kind() == reflect.String {
			field.SetString(safetext.Storable(field.String()))
		}
	}
	return asked
}
