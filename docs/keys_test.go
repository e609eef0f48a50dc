package docs_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// node is a part of the schema of the configuration.
type node struct {
	Ref        string          `json:"$ref"`
	Properties map[string]node `json:"properties"`
	Additional json.RawMessage `json:"additionalProperties"` //nolint:tagliatelle // JSON Schema chose the name; the value is false, or the schema of named entries
	Items      *node           `json:"items"`
	AnyOf      []node          `json:"anyOf"` //nolint:tagliatelle // JSON Schema chose the name
	OneOf      []node          `json:"oneOf"` //nolint:tagliatelle // JSON Schema chose the name
	Defs       map[string]node `json:"$defs"`
}

// has reports whether n has a key, where n is a part of the schema in root. The words of the key
// are in path.
func (n node) has(t *testing.T, root node, path []string) bool {
	t.Helper()
	if len(path) == 0 {
		return true
	}
	if name, is := strings.CutPrefix(n.Ref, "#/$defs/"); is {
		return root.Defs[name].has(t, root, path)
	}
	if next, is := n.Properties[path[0]]; is {
		return next.has(t, root, path[1:])
	}
	if len(n.Additional) > 0 && n.Additional[0] == '{' {
		var entry node
		require.NoError(t, json.Unmarshal(n.Additional, &entry))
		return entry.has(t, root, path[1:]) || entry.has(t, root, path) // with or without the entry's name
	}
	if n.Items != nil && n.Items.has(t, root, path) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(n.AnyOf, n.OneOf), func(one node) bool { return one.has(t, root, path) })
}

// configuration returns the schema of the configuration.
func configuration(t *testing.T) node {
	t.Helper()
	text, err := os.ReadFile("config.schema.json")
	require.NoError(t, err)
	var root node
	require.NoError(t, json.Unmarshal(text, &root))
	return root
}

// otherNames matches file names and values of the Helm chart that look like keys.
var otherNames = regexp.MustCompile(`\.(?:md|sh)$|^(?:gateway|worker)\.(?:secret|volumes|volumeMounts)$`)

// unknownKeys returns the keys in a text that the configuration does not have.
func unknownKeys(t *testing.T, root node, text string) (unknown []string) {
	t.Helper()
	sections := slices.Sorted(maps.Keys(root.Properties))
	key := regexp.MustCompile(`(?:^|[^\w./$@{-])((?:` + strings.Join(sections, "|") + `)(?:\.[a-z]\w*)+)`) // Go names such as worker.Options have a capital letter after the dot
	for _, found := range key.FindAllStringSubmatch(text, -1) {
		if !otherNames.MatchString(found[1]) && !root.has(t, root, strings.Split(found[1], ".")) {
			unknown = append(unknown, found[1])
		}
	}
	return unknown
}

// Every configuration key that a text names exists. The texts are the pages, help, the console,
// alerts, errors and findings.
func TestKeysInTextsExist(t *testing.T) {
	t.Parallel()
	root := configuration(t)
	all := texts(t)
	maps.Copy(all, pages(t)) // with their code, which names most keys
	for place, text := range all {
		for _, key := range unknownKeys(t, root, text) {
			t.Errorf("%s: %s is not in the configuration", place, key)
		}
	}
}

func TestAnUnknownKeyIsNoticed(t *testing.T) {
	t.Parallel()
	root := configuration(t)
	require.Equal(t, []string{"retention.keys", "sources.stripe.retention.keys", "alerts.webhook.no"},
		unknownKeys(t, root, "Set `retention.keys`, sources.stripe.retention.keys, or alerts.webhook.no."))
	require.Empty(t, unknownKeys(t, root, "Set retention.history, sources.NAME.retention.dedup or destinations.app.concurrency. See routes.md#match and worker.Options."))
}
