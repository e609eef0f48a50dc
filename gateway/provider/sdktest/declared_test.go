package sdktest

import (
	"cmp"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sdks.json lists the SDKs that these tests run, each with its provider. The pages in
// docs/providers show these SDKs with the versions in go.mod and package.json. This test compares
// the list with the tests themselves.
func TestTheListOfSDKsIsThatOfTheTests(t *testing.T) {
	t.Parallel()
	type run struct {
		Provider string   `json:"provider"`
		Go       []string `json:"go"`
		NPM      []string `json:"npm"`
	}
	var listed []run
	text, err := os.ReadFile("sdks.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &listed))

	byProvider := map[string]*run{}
	of := func(provider string) *run {
		if byProvider[provider] == nil {
			byProvider[provider] = &run{Provider: provider}
		}
		return byProvider[provider]
	}
	imports := importsOf(t, "sdk_test.go")
	for _, s := range sdks(t) {
		require.True(t, slices.ContainsFunc(imports, func(path string) bool { return path == s.module || strings.HasPrefix(path, s.module+"/") }),
			"sdk_test.go imports nothing of %s", s.module)
		of(s.slug).Go = append(of(s.slug).Go, s.module)
	}
	for _, c := range npmCases(t) {
		r := of(cmp.Or(c.provider, c.Name))
		if !slices.Contains(r.NPM, c.SDK) {
			r.NPM = append(r.NPM, c.SDK)
		}
	}
	var want []run
	for _, r := range byProvider {
		want = append(want, *r)
	}
	slices.SortFunc(want, func(a, b run) int { return strings.Compare(a.Provider, b.Provider) })
	require.Equal(t, want, listed, "sdks.json lists what the tests run, in alphabetical order")
}

func importsOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	require.NoError(t, err)
	var paths []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		paths = append(paths, path)
	}
	return paths
}
