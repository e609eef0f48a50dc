package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

func TestJWTOptionErrors(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"keys":[]}`), 0o600))
	for _, c := range []struct{ name, options, field string }{
		{"jwt", `{}`, "event_id"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "http://a.example.com/", audience: a}`, "jwks_url"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://a.example.com:8443/", audience: a}`, "jwks_url"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://u@a.example.com/", audience: a}`, "jwks_url"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://a.example.com/"}`, "audience"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://a.example.com/", jwks_file: x, audience: a}`, "jwks_file"},
		{"jwt", `{event_id: {pointer: /id}, jwks_file: ` + filepath.Join(t.TempDir(), "none") + `, audience: a}`, "jwks_file"},
		{"jwt", `{event_id: {pointer: /id}, jwks_file: ` + bad + `, audience: a}`, "jwks_file"},
		{"jwt", `{event_id: {pointer: /id}, algorithms: [none]}`, "algorithms"},
		{"jwt", `{event_id: {pointer: /id}, algorithms: [RS256]}`, "algorithms"},
		{"jwt", `{event_id: {pointer: /id}, algorithms: [HS256], jwks_url: "https://a.example.com/", audience: a}`, "algorithms"},
		{"jwt", `{event_id: {pointer: /id}, max_age: -1s}`, "max_age"},
		{"jwt", `{event_id: {pointer: /id}, tolerance: -1s}`, "tolerance"},
		{"jwt", `{event_id: {pointer: /id}, header: "a b"}`, "header"},
		{"jwt", `{event_id: {header: authorization}}`, "event_id"},
		{"jwt", `{event_id: {pointer: /id}, template: x}`, "template"},
		{"stripe", `{audience: a}`, "audience"},
		{"token", `{event_id: {pointer: /id}, query: t, header: X-T}`, "query"},
		{"token", `{event_id: {header: X-T}, header: x-t}`, "event_id"},
		{"token", `{event_id: {pointer: /id}, header: ""}`, ""},
		{"basic", `{event_id: {pointer: /id}, header: X-T}`, "header"},
		{"token", `{event_id: {pointer: /id}, each: events}`, "each"},
		{"token", `{event_id: {header: X-Id}, each: /events}`, "event_id"},
		{"token", `{event_id: {join: ["header:X-Id", "header:X-B"]}, each: /events}`, "event_id"},
		{"token", `{event_id: {join: ["id"]}}`, "event_id.join[0]"},
		{"token", `{event_id: {join: ["header:a b"]}}`, "event_id.join[0]"},
		{"token", `{event_id: {join: ["form:"]}}`, "event_id.join[0]"},
		{"token", `{event_id: {join: [/a, /a]}}`, "event_id.join"},
		{"token", `{event_id: {optional: [/a]}}`, "event_id"},
		{"token", `{event_id: {pointer: /a, optional: [/a]}}`, "event_id.optional"},
		{"token", `{event_id: {fields: [/a], optional: [b]}}`, "event_id.optional[0]"},
		{"token", `{event_id: {form: a}, each: /events}`, "event_id"},
		{"token", `{event_id: {fields: ["form:a", /b]}}`, "event_id"},
	} {
		var o provider.Options
		require.NoError(t, yaml.UnmarshalWithOptions([]byte(c.options), &o, yaml.Strict()), c.options)
		_, err := New(c.name, o)
		if c.field == "" {
			require.NoError(t, err, c.options)
			continue
		}
		refused, ok := errors.AsType[*provider.OptionError](err)
		require.True(t, ok, c.options)
		require.Equal(t, c.field, refused.Field, c.options)
		require.NotEmpty(t, refused.Allowed)
	}
}
