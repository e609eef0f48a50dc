package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheProgramKnowsHowItWasInvoked(t *testing.T) {
	t.Parallel()
	const name = "go run ./cmd/hooklatch"
	for arg0, want := range map[string]string{
		"/x/go-build1234567/b001/exe/hooklatch":                name,
		"/Users/ann/.cache/go-build/ab/abcdef01-d/hooklatch":   name,
		"/var/folders/x/T/go-build99/b001/exe/hooklatch":       name,
		"/usr/local/bin/hooklatch":                             "hooklatch",
		"./latch":                                              "latch",
		"hooklatch":                                            "hooklatch",
		"/Users/ann/src/go-builder-is-not-it/../bin/hooklatch": name, // harmless: only the hint differs
		"": "hooklatch",
	} {
		require.Equal(t, want, invocation(arg0), arg0)
	}
}
