// Package option describes which option is wrong, which value was given and which values are
// allowed. It uses the names in the configuration file.
//
// An options struct belongs to the package that uses it. Its yaml tags are the names in the
// file, its comments are the documentation, WithDefaults sets its defaults and Validate checks
// its rules. Code that reads files adds only a Fault's position in the file.
package option

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is an error in one option. It never contains a secret (I12).
type Fault struct { //nolint:errname // operators find and correct faults; the list is the error
	// Field is the option's path from the checked struct: retry.max, headers.X-Id,
	// retry_on[1].
	Field string
	// Given is the wrong value. It is nil if the value must not be quoted or was not given. Code
	// that reads files may mask a text that comes from an environment variable.
	Given any
	// Problem continues the sentence after the value: "is not a method".
	Problem string
	// Allowed lists the allowed words.
	Allowed []string
	// Missing means that the last name in Field is absent. Problem then describes the struct
	// around it: "has no url".
	Missing bool
}

// Error implements error.
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

// Around returns the path of the struct that contains the field; empty: the checked struct
// itself.
func (f *Fault) Around() string { return f.Field[:max(strings.LastIndexByte(f.Field, '.'), 0)] }

// TheSecret stands for a secret in a Problem, because no Problem may contain the secret itself.
// Code that reads files may replace TheSecret with a reference to the secret: ${NAME}.
const TheSecret = "THE-SECRET"

// Faults holds all errors in an options struct.
type Faults []*Fault //nolint:errname // see Fault

// Error implements error.
func (fs Faults) Error() string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns each Fault, for errors.As.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// FaultsOf returns the faults in a Validate error. It prefixes their fields with field, the
// name of the checked struct inside another one. An empty name means the checked struct
// itself. Any other error becomes a fault of the complete field.
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
