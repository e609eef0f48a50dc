package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

func TestNames(t *testing.T) {
	t.Parallel()
	listed := make([]string, 0, len(entries()))
	for _, e := range entries() {
		listed = append(listed, e.name)
	}
	require.Equal(t, Names(), listed, "the catalog is in alphabetical order")
	for _, name := range Names() {
		p := provide(t, name, configured(t)[name])
		require.Equal(t, name, p.Name)
		require.NotEmpty(t, p.Title)
		require.Contains(t, p.Methods, "POST")
	}
	github := provide(t, "github", provider.Options{})
	require.EqualValues(t, 25<<20, github.MaxBody)
	require.EqualValues(t, 75<<20, github.MaxForm)
	require.Equal(t, 10*time.Second, github.Deadline)
	require.Equal(t, 72*time.Hour, github.ResendWindow)
	require.EqualValues(t, 25<<20, provide(t, "gitlab", provider.Options{}).MaxBody)
}

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, options, field, value string
	}{
		{"strip", `{}`, "provider", "strip"},
		{"stripe", `{header: X-Sig}`, "header", "X-Sig"},
		{"stripe", `{event_id: {pointer: id}}`, "event_id.pointer", "id"},
		{"github", `{tolerance: 5m}`, "tolerance", "5m0s"},
		{"standard-webhooks", `{secret_encoding: hex}`, "secret_encoding", "hex"},
		{"standard-webhooks", `{type: {pointer: type}}`, "type.pointer", "type"},
		{"standard-webhooks", `{occurred_at: {unit: s}}`, "occurred_at.pointer", ""},
		{"hmac", `{event_id: {pointer: /id}}`, "header", ""},
		{"hmac", `{header: "X Sig", event_id: {pointer: /id}}`, "header", "X Sig"},
		{"hmac", `{header: X-Sig}`, "event_id", ""},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id, header: X-Id}}`, "event_id", "header and pointer"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /a~2}}`, "event_id.pointer", "/a~2"},
		{"hmac", `{header: X-Sig, event_id: {header: "a b"}}`, "event_id.header", "a b"},
		{"hmac", `{header: X-Sig, event_id: {fields: [/a, b]}}`, "event_id.fields[1]", "b"},
		{"hmac", `{header: X-Sig, event_id: {fields: [/a, /a]}}`, "event_id.fields", "/a"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, algorithm: md5}`, "algorithm", "md5"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, encoding: utf8}`, "encoding", "utf8"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, secret_encoding: base32}`, "secret_encoding", "base32"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, template: "{ts}."}`, "template", "{ts}."},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, template: "{time}.{body}"}`, "template", "{time}.{body}"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, template: "}{body}"}`, "template", "}{body}"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, template: "{body"}`, "template", "{body"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, template: "{ts}.{body}"}`, "template", "{ts}.{body}"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, template: "{id}.{body}"}`, "template", "{id}.{body}"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, timestamp_header: X-Ts}`, "template", ""},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, id_header: X-Id}`, "id_header", "X-Id"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, tolerance: 1m}`, "tolerance", "1m0s"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, timestamp_unit: ms}`, "timestamp_unit", "ms"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, timestamp_unit: minutes}`, "timestamp_unit", "minutes"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, timestamp_field: t}`, "timestamp_field", "t"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, separator: ";"}`, "separator", ";"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, signature_field: v1, separator: "="}`, "separator", "="},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, signature_field: t, timestamp_field: t}`, "timestamp_field", "t"},
		{"hmac", `{header: X-Sig, event_id: {form: id}, type: {pointer: /type}}`, "event_id", "id and /type"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, type: {fixed: "a\u0000"}}`, "type.fixed", "a\x00"},
		{"hmac", `{header: X-Sig, event_id: {pointer: /id}, occurred_at: {pointer: /at, unit: days}}`, "occurred_at.unit", "days"},
	} {
		var o provider.Options
		require.NoError(t, yaml.UnmarshalWithOptions([]byte(c.options), &o, yaml.Strict()), c.options)
		p, err := New(c.name, o)
		require.Nil(t, p, c.options)
		var refused *provider.OptionError
		require.ErrorAs(t, err, &refused, c.options)
		require.Equal(t, c.field, refused.Field, c.options)
		require.Equal(t, c.value, refused.Value, c.options)
		require.NotEmpty(t, refused.Allowed, c.options)
	}
}

func TestUnknownNameListsAll(t *testing.T) {
	t.Parallel()
	_, err := New("stripes", provider.Options{})
	require.EqualError(t, err, `provider: "stripes" is not allowed: must be one of `+strings.Join(Names(), ", "))
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	hmac, err := Describe("hmac")
	require.NoError(t, err)
	require.Contains(t, hmac.Options, "template")
	require.Contains(t, hmac.Example, "event_id")
	require.NotEmpty(t, hmac.About.Setup)
	stripe, err := Describe("stripe")
	require.NoError(t, err)
	require.Equal(t, []string{"dedup.ignore", "event_id", "tolerance"}, stripe.Options)
	require.Empty(t, stripe.Example)
	_, err = Describe("strip")
	require.ErrorContains(t, err, "must be one of adyen")
}

// A form is longer than its content because of the escapes, and senders limit the content.
// MaxForm must therefore exceed MaxBody.
func TestSendersOfLargeFormsMaySendThemEscaped(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		p := provide(t, name, configured(t)[name])
		for _, c := range deliveriesOf(t, name).cases {
			if c.kind == "accepted" && p.MaxBody > 0 && proof.IsForm(c.request) {
				require.Greater(t, p.MaxForm, p.MaxBody, name)
			}
		}
	}
}
