// Package option says which option is wrong, what was given, and what is
// allowed, in the names that the configuration file has for options.
//
// A struct of options belongs to the package that uses it: its yaml tags are
// the names in the file, its comments are the documentation, its defaults stand
// in WithDefaults and its rules in Validate. What reads files adds no more than
// the place of a Fault in the file.
package option

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is what is wrong with one option. It never contains a secret (I12).
type Fault struct { //nolint:errname // people find and correct faults; the list is the error
	// Field is the path of the option from the struct that was checked:
	// retry.max, headers.X-Id, retry_on[1].
	Field string
	// Given is the value that is wrong; nil where it must not be repeated, or
	// where there is none. A text from elsewhere than the file may be masked.
	Given any
	// Problem goes on after the value: "is not a method".
	Problem string
	// Allowed are the words that it may be.
	Allowed []string
	// Missing says that the last name of Field is not there. Problem is then
	// about the struct around it: "has no url".
	Missing bool
}

func (f *Fault) Error() string {
	text := f.Problem
	switch given := f.Given.(type) {
	case nil:
	case string:
		text = fmt.Sprintf("%q %s", given, text)
	default:
		text = fmt.Sprintf("%v %s", given, text)
	}
	if len(f.Allowed) > 0 {
		text += "; allowed: " + strings.Join(f.Allowed, ", ")
	}
	at := f.Field
	if f.Missing {
		at = f.Around()
	}
	if at == "" {
		return text
	}
	return at + ": " + text
}

// Around is the path of what contains the field; empty: the struct itself.
func (f *Fault) Around() string { return f.Field[:max(strings.LastIndexByte(f.Field, '.'), 0)] }

// TheSecret stands in a Problem for a secret that may not. What reads files may
// put there how the secret is referred to: ${NAME}.
const TheSecret = "THE-SECRET"

// Faults are all that is wrong with a struct of options.
type Faults []*Fault //nolint:errname // see Fault

func (fs Faults) Error() string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives errors.As each Fault.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// FaultsOf are the faults in an error of Validate, their fields as seen from a
// struct that has the one that was checked as a field of its own; an empty name
// is that struct itself. An error that is no fault is one of the whole field.
func FaultsOf(field string, err error) Faults {
	if err == nil {
		return nil
	}
	found, ok := errors.AsType[Faults](err)
	if one, alone := errors.AsType[*Fault](err); !ok && alone {
		found = Faults{one}
	} else if !ok {
		return Faults{{Field: field, Problem: err.Error()}}
	}
	found = slices.Clone(found)
	for i, f := range found {
		moved := *f
		moved.Field = join(field, f.Field)
		found[i] = &moved
	}
	return found
}

func join(path, name string) string {
	if path == "" || name == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}
