package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const isc = "Permission to use, copy, modify, and/or distribute this software for any purpose is granted."

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	}
	return dir
}

func TestEqualTextsStandOnce(t *testing.T) {
	t.Parallel()
	texts, err := textsOf([]dependency{
		{"one v1", []string{folder(t, map[string]string{"LICENSE": isc + "  \r\n", "NOTICE.txt": "By one.", "license_test.go": "package one"})}},
		{"two v2", []string{folder(t, map[string]string{"LICENCE.md": isc})}},
	})
	require.NoError(t, err)
	require.Equal(t, []*text{{[]string{"one v1", "two v2"}, isc}, {[]string{"one v1"}, "By one."}}, texts)
	require.Contains(t, string(render([]byte("own"), []byte("fonts"), texts)), "\none v1\ntwo v2\n\n"+isc+"\n")
}

func TestWhatNobodyDecidedIsRefused(t *testing.T) {
	t.Parallel()
	_, err := textsOf([]dependency{{"bare v1", []string{folder(t, map[string]string{"README": isc})}}})
	require.ErrorContains(t, err, "bare v1 has no licence")
	_, err = textsOf([]dependency{{"odd v1", []string{folder(t, map[string]string{"LICENSE": "All rights reserved."})}}})
	require.ErrorContains(t, err, "odd v1: the licence")
}
