package model

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// bound returns the worlds to explore. They have their full budgets only if HOOKLATCH_LONG is 1.
func bound() []World {
	if os.Getenv("HOOKLATCH_LONG") == "1" {
		return Worlds()
	}
	return Smaller()
}

var exploreOnce = sync.OnceValues(func() (Result, error) {
	return Explore(context.Background(), Options{Worlds: bound()})
})

// explored returns the result of exploring the protocol without bugs.
func explored(t *testing.T) Result {
	t.Helper()
	result, err := exploreOnce()
	require.NoError(t, err)
	require.Nil(t, result.Violation, "%s", result.Violation)
	return result
}
