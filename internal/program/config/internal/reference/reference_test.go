package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := generate()
	require.NoError(t, err)
	for path, want := range files {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is out of date; run: go generate ./internal/program/...", filepath.Base(path))
	}
}

// Every key is described by its field's comment.
func TestEveryKeyHasAComment(t *testing.T) {
	t.Parallel()
	docs, err := readComments(root)
	require.NoError(t, err)
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		for _, f := range config.Fields(typ) {
			if f.Owner.Name() != "EventID" { // the comment of EventID describes all positions
				require.NotEmpty(t, docs.field(f), "%s.%s", f.Owner.Name(), f.Go)
			}
			if inner := structOf(f.Type); inner != nil {
				visit(inner)
			}
		}
	}
	visit(reflect.TypeFor[config.Config]())
}

// The default in a comment equals the default of an empty file.
func TestDefaultsAreThoseOfTheComments(t *testing.T) {
	t.Parallel()
	docs, err := readComments(root)
	require.NoError(t, err)
	cfg, err := config.Parse("defaults.yaml", []byte(`
sources: {a: {provider: stripe, secrets: the-first-secret}}
destinations: {http: {http: {url: https://app.example.com}}, smtp: {smtp: {host: a.example.com, from: a@example.com}}, sql: {sql: {statements: {a: SELECT 1}}}}
`), nil)
	require.NoError(t, err)
	printed, err := cfg.YAML()
	require.NoError(t, err)
	var effective any
	require.NoError(t, yaml.Unmarshal(printed, &effective))
	checked := 0
	var visit func(reflect.Type, []any)
	visit = func(typ reflect.Type, given []any) {
		for _, f := range config.Fields(typ) {
			values := within(given, f.Name, f.Type.Kind() == reflect.Map)
			_, standard := split(docs.field(f))
			if inner := structOf(f.Type); inner != nil {
				visit(inner, values)
			} else if len(values) > 0 && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map && strings.ContainsAny(standard[:min(1, len(standard))], "0123456789:") {
				checked++
				text, err := yaml.Marshal(values[0])
				require.NoError(t, err)
				require.Equal(t, strings.Trim(strings.TrimSpace(string(text)), `"`), strings.TrimRight(strings.Fields(standard)[0], ",;"), "%s.%s", f.Owner.Name(), f.Go)
			}
		}
	}
	visit(reflect.TypeFor[config.Config](), []any{effective})
	require.Greater(t, checked, 20)
}

// The descriptions name keys as the file does, not by their Go names.
func TestKeysAreDescribedInTheWordsOfTheFile(t *testing.T) {
	t.Parallel()
	docs, err := readComments(root)
	require.NoError(t, err)
	described := map[string]string{}
	for _, f := range config.Fields(reflect.TypeFor[provider.Options]()) {
		described[f.Name] = docs.field(f)
	}
	require.Equal(t, "Unit of {ts}: s, ms or rfc3339. Default s.", described["timestamp_unit"])
	require.Equal(t, "Name of the header that carries {id}, which is then the default of event_id.", described["id_header"])
	require.Contains(t, described["query"], "instead of header.")
	require.Contains(t, described["each"], "The pointers of event_id, type and occurred_at then start")
}
