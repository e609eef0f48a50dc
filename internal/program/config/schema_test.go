package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

const schemaPath = "../../../docs/config.schema.json"

// Every file that the parser accepts must match the schema, or editors would mark errors in it.
// README and examples contain such files too.
func TestGoodFilesMatchTheSchema(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for name, text := range goodTexts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(name, []byte(text), anyVariable)
			require.NoError(t, err)
			require.NoError(t, schema.Validate(asJSON(t, text)))
		})
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for name, text := range map[string]string{
		"unknown key":           "gatway: {}",
		"unknown key deep down": "destinations: {app: {http: {url: http://localhost, urll: x}}}",
		"unknown provider":      "sources: {a: {provider: strip, secrets: the-secret}}",
		"no provider":           "sources: {a: {secrets: the-secret}}",
		"wrong type":            "gateway: {max_in_flight: many}",
		"wrong size":            "gateway: {max_body: 1 megabyte}",
		"wrong duration":        "gateway: {accept_timeout: 2}",
		"wrong rate":            "destinations: {app: {http: {url: http://localhost}, rate: 5}}",
		"wrong policy":          "destinations: {app: {http: {url: http://localhost}, policy: once}}",
		"two kinds":             "destinations: {app: {http: {url: http://localhost}, smtp: {host: a, from: b}}}",
		"name of a source":      "sources: {Stripe: {provider: stripe, secrets: the-secret}}",
		"secret and its file":   "admin: {token: a, token_file: b}",
		"secret of nothing":     "sources: {a: {provider: stripe, secrets: [{not_after: 2026-12-01T00:00:00Z}]}}",
		"secret given twice":    "sources: {a: {provider: stripe, secrets: [{value: the-secret, file: b}]}}",
		"time without zone":     "sources: {a: {provider: stripe, secrets: [{value: the-secret, not_after: 2026-12-01}]}}",
		"unknown guard":         "sources: {a: {provider: stripe, secrets: [the-secret], replay_guard: deny}}",
		"no secret":             "sources: {a: {provider: stripe}}",
		"wrong days":            "retention: {dedup: 90 days}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Error(t, schema.Validate(asJSON(t, text)))
		})
	}
}

// anyVariable returns a valid value for every variable in the good files.
func anyVariable(name string) (string, bool) {
	fitting := map[string]string{
		"DATABASE_URL": "postgres://me@localhost:5432/app", "FORTY": "40", "HOST": "127.0.0.1", "PORT": "2525",
		"RATE": "5/m", "SECONDS": "3s", "SIZE": "4KiB", "YES": "true",
	}
	if value, ok := fitting[name]; ok {
		return value, true
	}
	if strings.HasSuffix(name, "_URL") {
		return "https://app.example.com/hooks", true
	}
	return "whsec_d2hhdGV2ZXIgaXQgaXMgYXMgbG9uZyBhcyBuZWVkZWQ=", true
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// goodTexts returns the good files in testdata, the examples in docs, and the configurations in
// README and docs.
func goodTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"testdata/good.*.yaml", "../../../docs/examples/*/hooklatch.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[path] = string(text)
		}
	}
	for _, pattern := range []string{"../../../*.md", "../../../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for i, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
				text := block[1]
				if inner, ok := strings.CutPrefix(text, "config:\n  "); ok { // values of the Helm chart
					text = strings.ReplaceAll(inner, "\n  ", "\n")
				}
				if strings.Contains(text, "sources:") && strings.Contains(text, "routes:") {
					texts[path+"#"+strconv.Itoa(i)] = text
				}
			}
		}
	}
	return texts
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open(schemaPath)
	require.NoError(t, err)
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("config.schema.json", document))
	schema, err := compiler.Compile("config.schema.json")
	require.NoError(t, err)
	return schema
}

// asJSON reads a configuration like an editor's YAML support, but with masked references, so that
// references need no quotes inside braces.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(maskReferences(text)), &value))
	data, err := json.Marshal(value)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(unmask.Replace(string(data))))
	require.NoError(t, err)
	return document
}
