package config

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const deprecatedFile = `gateway: {drain_limit: 7s} # at night
sources:
  stripe:
    provider: stripe
    secrets: [whsec_0123456789abcdef]
    # of invoices
    largest_body: 2MiB
destinations: {app: {http: {url: "http://localhost:1/"}}}
routes:
  - {name: all, from: stripe, to: app, order: event.type}
`

// parseDeprecated parses a text in which the listed keys are deprecated. No version of Hooklatch
// had these keys.
func parseDeprecated(text string) (*Config, error) {
	return parseWith("hooklatch.yaml", []byte(text), os.LookupEnv, []DeprecatedKey{
		{Path: "gateway.drain_limit", Key: "drain_timeout", Since: "1.4.0"},
		{Path: "sources.*.largest_body", Key: "max_body", Since: "1.4.0"},
		{Path: "routes.order", Key: "order_by", Since: "1.4.0"},
		{Path: "gateway.drain_max", Key: "drain_timeout", Since: "1.2.0", Removed: "1.4.0"},
	})
}

// Comments, order and all other text of the file remain unchanged.
func TestADeprecatedKeyIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	cfg, err := parseDeprecated(deprecatedFile)
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, cfg.Gateway.DrainTimeout)
	require.EqualValues(t, 2<<20, cfg.Sources["stripe"].MaxBody)
	require.Equal(t, "event.type", cfg.Routes[0].OrderBy)
	require.True(t, cfg.Given("gateway.drain_timeout"))
	require.EqualError(t, cfg.Deprecated(), `hooklatch.yaml:1: gateway.drain_limit: has been deprecated since version 1.4.0: write drain_timeout
hooklatch.yaml:7: sources.stripe.largest_body: has been deprecated since version 1.4.0: write max_body
hooklatch.yaml:10: routes[0].order: has been deprecated since version 1.4.0: write order_by`)

	text, err := cfg.WithoutDeprecated()
	require.NoError(t, err)
	require.Equal(t, strings.NewReplacer("drain_limit", "drain_timeout", "largest_body", "max_body", "order:", "order_by:").Replace(deprecatedFile), string(text))
	for _, text := range []string{
		`gateway: {"drain\u005flimit": 7s}`,                                                    // the key is written with an escape
		`sources: {a: {provider: stripe, secrets: ["a largest_body: 1"], largest_body: 2MiB}}`, // the first match is in a secret
	} {
		cfg, err := parseDeprecated(text)
		require.NoError(t, err)
		require.Len(t, cfg.Deprecated(), 1, text)
		_, err = cfg.WithoutDeprecated()
		require.ErrorContains(t, err, "replace the deprecated keys by hand: hooklatch.yaml:1: ", text)
	}
}

func TestADeprecatedKeyIsRefusedBesideItsKeyAndOnceRemoved(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"gateway:\n  drain_timeout: 5s\n  drain_limit: 7s\n": "hooklatch.yaml:3: gateway.drain_limit: is a deprecated name of drain_timeout, which line 2 sets too: remove one of them",
		"gateway: {drain_max: 7s}\n":                         "hooklatch.yaml:1: gateway.drain_max: was deprecated in version 1.2.0 and removed in 1.4.0: write drain_timeout",
		"admin: {drain_limit: 7s}\n":                         "hooklatch.yaml:1: admin: \"drain_limit\" is not a key here",
	} {
		_, err := parseDeprecated(text)
		require.ErrorContains(t, err, want)
	}
}
