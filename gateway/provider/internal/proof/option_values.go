package proof

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// Tolerance returns the largest difference that a source allows between the signed time and now;
// standard is the scheme's default. The result 0 means no limit.
func Tolerance(o provider.Options, standard time.Duration) time.Duration {
	switch {
	case o.Tolerance < 0:
		return 0
	case o.Tolerance == 0:
		return standard
	}
	return o.Tolerance
}

// OneOf returns an option's value, or standard if the option is not set. It returns an *OptionError
// if the value is not in allowed.
func OneOf(field, value, standard string, allowed ...string) (string, error) {
	value = cmp.Or(value, standard)
	if !slices.Contains(allowed, value) {
		return "", &provider.OptionError{Field: field, Value: value, Allowed: "must be one of " + strings.Join(allowed, ", ")}
	}
	return value, nil
}

// validateField refuses a Field with no location or more than one, and a malformed location.
func validateField(field string, f provider.Field) error {
	return oneMember(field, map[string]string{"header": f.Header, "pointer": f.Pointer, "form": f.Form, "fixed": f.Fixed})
}

// validateEventID refuses an EventID with no location or more than one, a malformed location, and
// Optional without Fields.
func validateEventID(field string, e provider.EventID) error {
	members := map[string]string{
		"header": e.Header, "pointer": e.Pointer, "form": e.Form, "join": strings.Join(e.Join, " "), "fields": strings.Join(e.Fields, " "),
	}
	if err := oneMember(field, members); err != nil {
		return err
	}
	if err := validatePlaces(field+".join", e.Join); err != nil {
		return err
	}
	if len(e.Optional) > 0 && len(e.Fields) == 0 {
		return &provider.OptionError{Field: field + ".optional", Value: strings.Join(e.Optional, " "), Allowed: "requires fields"}
	}
	if err := validatePlaces(field+".fields", e.Fields); err != nil {
		return err
	}
	return validatePlaces(field+".optional", e.Optional)
}

// validateClock refuses a Clock with a missing or malformed pointer, or with an unknown unit.
func validateClock(field string, c provider.Clock) error {
	if err := validatePointer(field+".pointer", c.Pointer); err != nil {
		return err
	}
	if c.Unit == "" {
		return nil
	}
	_, err := OneOf(field+".unit", c.Unit, "", string(Seconds), string(Milliseconds), string(RFC3339))
	return err
}

func oneMember(field string, members map[string]string) error {
	var names, set []string
	for name, value := range members {
		names = append(names, name)
		if value != "" {
			set = append(set, name)
		}
	}
	slices.Sort(names)
	slices.Sort(set)
	if len(set) != 1 {
		return &provider.OptionError{Field: field, Value: strings.Join(set, " and "), Allowed: "exactly one of " + strings.Join(names, ", ")}
	}
	name, value := set[0], members[set[0]]
	switch name {
	case "pointer":
		return validatePointer(field+".pointer", value)
	case "header":
		return ValidateHeader(field+".header", value)
	}
	return nil
}

// validatePointer accepts RFC 6901 pointers except the empty one, because the complete body is
// not a field.
func validatePointer(field, pointer string) error {
	ok := strings.HasPrefix(pointer, "/")
	for i := 0; ok && i < len(pointer); i++ {
		if pointer[i] == '~' {
			ok = i+1 < len(pointer) && (pointer[i+1] == '0' || pointer[i+1] == '1')
		}
	}
	if !ok {
		return &provider.OptionError{Field: field, Value: pointer, Allowed: "must be a JSON pointer such as /data/id (~ is written ~0, / in a name ~1)"}
	}
	return nil
}

// ValidateHeader accepts header field names (RFC 9110, tokens).
func ValidateHeader(field, name string) error {
	token := func(c rune) bool {
		return c > ' ' && c < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !token(c) }) {
		return &provider.OptionError{Field: field, Value: name, Allowed: "must be the name of a header, such as X-Signature"}
	}
	return nil
}

// validatePlaces refuses strings that Places cannot read, and duplicates.
func validatePlaces(field string, texts []string) error {
	for i, text := range texts {
		at := field + "[" + strconv.Itoa(i) + "]"
		kind, name, _ := strings.Cut(text, ":")
		switch {
		case kind == "header":
			if err := ValidateHeader(at, name); err != nil {
				return err
			}
		case kind == "form" && name != "":
		default:
			if validatePointer(at, text) != nil {
				return &provider.OptionError{Field: at, Value: text, Allowed: "must be a JSON pointer such as /data/id, or header:NAME, or form:NAME"}
			}
		}
		if slices.Contains(texts[:i], text) {
			return &provider.OptionError{Field: field, Value: text, Allowed: "must be given only once"}
		}
	}
	return nil
}
