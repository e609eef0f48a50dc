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

// Field is one thing that can be asked for: a flag of a command, and a value in a URL.
type Field struct {
	Name   string // of the flag, and in the URL
	Former string // in URLs of before; empty: none
	Label  string // in a form
	Hint   string // a value, as an example
	// Help continues "those ". The name of its value is in single quotes.
	Help  string
	Words []string // the only ones that it takes; nil: any text
	Many  bool     // takes several, with commas between them

	template string // of Help
	index    []int
}

// Narrowed is the field where only some of its words are allowed.
func (f Field) Narrowed(words []string) Field {
	f.Words, f.Help = words, fmt.Sprintf(f.template, inWords(words))
	return f
}

// ValueError means that a field does not take a value.
type ValueError struct {
	Name, Value string
	Takes       string // a sentence
}

func (e *ValueError) Error() string { return fmt.Sprintf("%s %q: %s", e.Name, e.Value, e.Takes) }

// Fields are those of Events, of Effects or of Actions, in the order of the struct.
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
			field.Help = came[Filter]() + " at this 'time' or later, like 2026-11-21 or 36h"
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

// came is what happened to a row at the time that Span is about.
func came[Filter any]() string {
	switch any(*new(Filter)).(type) {
	case Events:
		return "received"
	case Effects:
		return "made"
	}
	return "ordered"
}

// wordsOf are what a type of field takes; nil: any text.
func wordsOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[inbox.Outcome]():
		return texts(inbox.Outcomes())
	case reflect.TypeFor[[]ledger.EffectState]():
		return append(texts(ledger.EffectStates()), string(Attention))
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

// Set asks for a value of a field besides, as a person wrote it. A time is RFC 3339, a day,
// or how long ago. An empty value asks for nothing. Errors: *ValueError.
func Set[Filter any](asked *Filter, name, value string, now time.Time) error {
	if value == "" {
		return nil
	}
	fields := Fields[Filter]()
	at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return &ValueError{name, value, "there is no such field"}
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
				return &ValueError{name, value, "an event is named SOURCE/EVENT_ID, like stripe/evt_123"}
			}
			*target = identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}
		case *[]ledger.EffectState:
			more := []ledger.EffectState{ledger.EffectState(value)}
			if ledger.EffectState(value) == Attention {
				more = NeedAttention()
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

// Times says how a point in time is written.
const Times = "a time is like 2026-11-21T08:00:00Z, 2026-11-21, which is UTC, or 36h for that long ago"

// Time reads a point in time, as Times says it is written.
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

// Value is a field with what is asked of it.
type Value struct {
	Field

	Text string // as Set reads it
}

// Given are the fields that something is asked of.
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
		case []Attribute:
			v.Text = strings.Join(texts(what), ",")
		default:
			v.Text = value.String()
		}
		given = append(given, v)
	}
	return given
}

// Storable is what is asked for with texts that the database can hold.
func Storable[Filter any](asked Filter) Filter {
	into := reflect.ValueOf(&asked).Elem()
	for _, f := range Fields[Filter]() {
		if field := into.FieldByIndex(f.index); field.Kind() == reflect.String {
			field.SetString(safetext.Storable(field.String()))
		}
	}
	return asked
}
