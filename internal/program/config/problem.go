package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in the file. It never contains a secret (I12): of
// secret fields it has the name only, and of expanded values the text before
// expansion.
type Problem struct { //nolint:errname // people make and fix problems; the list is the error
	File    string
	Line    int    // from 1; 0 when it concerns the whole file
	Path    string // like sources.stripe.provider; empty for the whole file
	Message string // the value given, what is wrong with it, what is allowed
}

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

// Problems are all the mistakes of a file, in the order of their lines.
type Problems []Problem //nolint:errname // see Problem

// Error has one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As each Problem.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// about reports whether one of them is about a path.
func (ps Problems) about(path string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Path == path })
}

func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ps)
}

// quote shows a given value, shortened so that a misplaced document does not
// fill the screen.
func quote(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "..."
	}
	return fmt.Sprintf("%q", value)
}

// oneOf lists what is allowed and, when value comes near to one of it, what
// was probably meant.
func oneOf(value string, allowed []string) string {
	if near, ok := nearest(value, allowed); ok {
		return fmt.Sprintf("did you mean %q? allowed: %s", near, list(allowed))
	}
	return "allowed: " + list(allowed)
}

// oneOf is oneOf, without the guess when the value is from the environment: a
// name that comes near to it reveals too much.
func (d *decoder) oneOf(path, value string, allowed []string) string {
	if _, fromEnv := d.expanded[path]; fromEnv {
		return "allowed: " + list(allowed)
	}
	return oneOf(value, allowed)
}

func list(allowed []string) string { return strings.Join(allowed, ", ") }
