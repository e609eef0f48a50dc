package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// Every viewer can submit a route to try. Parsing the route allocates limited memory and returns an
// error of limited length, whatever the text.
//
//nolint:paralleltest // it measures what the process allocates
func TestATypedRouteOfAnyTextIsReadCheaply(t *testing.T) {
	const most = 16 << 10 // limit of the console for a typed route
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte("database: {url: \"postgres://localhost/none\"}\n"), 0o600))
	c, err := config.Load(path, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (most-len(before)-len(after))/len(unit)) + after
	}
	half := func(before, unit, between, other, after string) string {
		return before + strings.Repeat(unit, 7000/len(unit)) + between + strings.Repeat(other, 7000/len(other)) + after
	}
	for name, text := range map[string]string{
		"aliases of a list":        half("- &a {name: r, types: [&x y,", "*x,", "]}\n", "- *a\n", ""),
		"aliases of a wrong list":  half("- &a {name: r, types: [&x {},", "*x,", "]}\n", "- *a\n", ""),
		"aliases of a wrong route": half("- &a {name: r, ", "b: c, ", "}\n", "- *a\n", ""),
		"aliases of a long text":   half("- &a {name: r, when: ", "x", "}\n", "- *a\n", ""),
		"closed nested lists":      half("", "[", "", "]", ""),
		"nested mappings":          fill("", "{a: ", ""),
		"nested keys":              fill("", "? ", ""),
		"nested dashes":            fill("", "- ", ""),
		"colons":                   fill("", "a: ", ""),
		"indents":                  fill("a:", "\n b:", ""),
		"anchors":                  fill("", "&a ", ""),
		"tags":                     fill("", "!!a ", ""),
		"quotes":                   fill("", `"`, ""),
		"open quotes":              fill("a: ", "'b", ""),
		"comments":                 fill("", "#\n", ""),
		"block texts":              fill("a: |\n", " x\n", ""),
		"many routes":              fill("", "- {}\n", ""),
		"unknown keys":             fill("", "a\u00e9: b\n", ""),
		"documents":                fill("", "---\n", ""),
		"merge keys":               fill("a: &a {b: c}\nd:\n", "  <<: *a\n", ""),
		"commas":                   fill("[", ",", "]"),
		"empty lines":              fill("a:", "\n", " b"),
		"references":               fill("- {name: r, when: '", "${A}", "'}"),
		"types":                    fill("- {name: r, from: '*', to: a, types: [", "x,", "]}"),
	} {
		require.LessOrEqual(t, len(text), most, name)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.WithRoute(text)
		said := 0
		if err != nil {
			said = len(err.Error())
		}
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-25s %5d MiB, error of %d bytes", name, allocated>>20, said)
		if allocated > 192<<20 || said > 1<<20 {
			t.Errorf("%s: %d MiB, error of %d bytes", name, allocated>>20, said)
		}
	}
}

// A typed route may name a secret file. The file is not read, so that a caller cannot learn whether
// it exists.
func TestATypedRouteReadsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte("database: {url: \"postgres://localhost/none\"}\ndestinations: {app: {http: {url: \"https://app.example.com\"}}}\n"), 0o600))
	c, err := config.Load(path, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	readable := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(readable, []byte("the-token"), 0o600))
	var bearers []string
	for _, file := range []string{readable, filepath.Join(dir, "missing"), dir} {
		typed, err := c.WithRoute("{name: r, from: '*', to: app, http: {body: \"{'a': 1}\"}, refetch: {url: \"'https://api.example.com/' + id\", bearer_file: " + file + "}}")
		require.NoError(t, err, file)
		bearers = append(bearers, typed.Routes[0].Refetch.Bearer.Reveal())
	}
	require.NotContains(t, bearers, "the-token")
	require.Equal(t, []string{bearers[0], bearers[0], bearers[0]}, bearers)
	require.NotEmpty(t, bearers[0], "the file counts as given")
	_, err = c.WithRoute("{name: r, from: '*', to: app, http: {body: \"{'a': 1}\"}, refetch: {url: \"'https://api.example.com/' + id\", bearer: x, bearer_file: " + readable + "}}")
	require.ErrorContains(t, err, "at most one of bearer and bearer_file may be given")
}
