package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesAreCurrent compares the pages with the declarations. Its error explains how to
// regenerate them.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	want, err := render()
	require.NoError(t, err)
	const stale = "%s is out of date; run: go generate ./gateway/provider/..."
	files, err := os.ReadDir(directory)
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, want, file.Name(), stale, file.Name())
	}
	for name, text := range want {
		published, err := os.ReadFile(filepath.Join(directory, name))
		require.NoError(t, err, stale, name)
		require.Equal(t, text, string(published), stale, name)
	}
}
