//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"sync"
)

// Enabled reports whether this binary has failpoints.
const Enabled = true

const (
	rulesVariable = "HOOKLATCH_FAILPOINTS"
	traceVariable = "HOOKLATCH_FAILPOINT_TRACE"
	firedVariable = "HOOKLATCH_FAILPOINT_FIRED"
)

// Hit passes the named place, and takes the action that a rule requests for this passage, if any.
// For the action error, Hit returns an error.
func Hit(name string) error { return ofProcess().hit(name) }

// HitIn passes a place in the named transaction.
func HitIn[T ~string](transaction T, moment Moment) error {
	return Hit(string(transaction) + "." + string(moment))
}

// ofProcess reads the environment once. If a value is invalid, the process exits. Otherwise a test
// would seem to survive a fault that never happened.
var ofProcess = sync.OnceValue(func() *places {
	p, err := fromEnvironment(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "failpoint:", err)
		os.Exit(2)
	}
	return p
})

func fromEnvironment(getenv func(string) string) (*places, error) {
	rules, err := parse(getenv(rulesVariable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rulesVariable, err)
	}
	p := &places{rules: rules, passed: make(map[string]int)}
	if p.trace, err = appendTo(getenv(traceVariable)); err != nil {
		return nil, fmt.Errorf("%s: %w", traceVariable, err)
	}
	if p.fired, err = appendTo(getenv(firedVariable)); err != nil {
		return nil, fmt.Errorf("%s: %w", firedVariable, err)
	}
	return p, nil
}

// appendTo opens a file for appending. It returns nil if the path is empty.
func appendTo(path string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}
