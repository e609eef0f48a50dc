package payload

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// Limits for the values by which an event is found.
const (
	MaxSearchPointers = 8
	MaxSearchValues   = 16  // maximum number of values of one event
	MaxSearchValue    = 256 // bytes; a longer value is left out
)

// SearchValue returns the form in which texts are compared: without surrounding space, and in
// lower case.
func SearchValue(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// SearchValues returns the values by which an event is found, each once: the texts and numbers to
// which pointers lead in its payload. A pointer to a list leads to the list's elements. In a form a
// pointer is a field name after a slash.
func SearchValues(contentType string, payload []byte, pointers []string) []string {
	if len(pointers) == 0 {
		return nil
	}
	found := searchValues{}
	if IsForm(contentType, payload) || IsMultipart(contentType, payload) {
		fields, err := Fields(contentType, payload)
		if err != nil {
			return nil
		}
		for _, pointer := range pointers {
			if tokens := jsonpointer.Tokens(pointer); len(tokens) == 1 {
				for _, value := range fields[tokens[0]] {
					found.add(value)
				}
			}
		}
		return found.values
	}
	text, valid := jsonpointer.Read(payload)
	if !valid {
		return nil
	}
	for _, pointer := range pointers {
		target := text.Lookup(pointer)
		if !target.IsArray() {
			found.addJSON(target)
			continue
		}
		target.ForEach(func(_, element gjson.Result) bool {
			found.addJSON(element)
			return !found.full()
		})
	}
	return found.values
}

type searchValues struct{ values []string }

func (s *searchValues) full() bool { return len(s.values) >= MaxSearchValues }

func (s *searchValues) addJSON(v gjson.Result) {
	switch v.Type {
	case gjson.String:
		s.add(v.Str)
	case gjson.Number:
		s.add(v.Raw)
	case gjson.Null, gjson.False, gjson.True, gjson.JSON: // they match too many events, or are not single values
	}
}

func (s *searchValues) add(text string) {
	value := SearchValue(text)
	if value == "" || len(value) > MaxSearchValue || safetext.Storable(value) != value || s.full() || slices.Contains(s.values, value) {
		return
	}
	s.values = append(s.values, value)
}
