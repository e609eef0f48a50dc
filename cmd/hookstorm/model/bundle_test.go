package model

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// bound is the worlds to explore: all of them by HOOKLATCH_LONG=1.
func bound() []World {
	if os.Getenv("HOOKLATCH_LONG") == "1" {
		return Worlds()
	}
	return Smaller()
}

var exploreOnce = sync.OnceValues(func() (Result, error) {
	return Explore(context.Background(), Options{Worlds: bound()})
})

// explored is what there is in the worlds of the protocol as it should be.
func explored(t *testing.T) Result {
	t.Helper()
	result, err := exploreOnce()
	require.NoError(t, err)
	require.Nil(t, result.Violation, "%s", result.Violation)
	return result
}
