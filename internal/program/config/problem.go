package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in the file. A Problem never contains a secret (I12). It names a secret
// field without its value, and shows an expanded value as written in the file.
type Problem struct { //nolint:errname // functions return Problems, the list, as the error
	File    string
	Line    int    // counted from 1; 0 for the whole file
	Path    string // such as sources.stripe.provider; empty for the whole file
	Message string // the given value, the mistake, and the allowed values
}

// Error implements error.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all mistakes of a file, ordered by line.
type Problems []Problem //nolint:errname // the name says what the list contains

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each Problem, for errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// about reports whether one of the problems is about a path.
func (ps Problems) about(path string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Path == path })
}

func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ps)
}

// quote quotes a given value, shortened so that misplaced text does not fill the screen.
func quote(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "..."
	}
	return fmt.Sprintf("%q", value)
}

// oneOf lists the allowed values and, if value is similar to one of them, the value that was
// probably meant.
func oneOf(value string, allowed []string) string {
	if near, ok := nearest(value, allowed); ok {
		return fmt.Sprintf("did you mean %q? allowed: %s", near, list(allowed))
	}
	return "allowed: " + list(allowed)
}

// oneOf does the same as the function oneOf, but makes no guess for a value from the environment: a
// similar name would reveal too much.
func (d *decoder) oneOf(path, value string, allowed []string) string {
	if _, fromEnv := d.expanded[path]; fromEnv {
		return "allowed: " + list(allowed)
	}
	return oneOf(value, allowed)
}

func list(allowed []string) string { return strings.Join(allowed, ", ") }
