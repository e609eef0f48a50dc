package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each change of a setting that decides about events is reported, without secrets.
func TestChangesTellEveryDifference(t *testing.T) {
	t.Parallel()
	const text = `
database: {url: "postgres://localhost/a"}
sources: {stripe: {provider: stripe, secrets: [whsec_0123456789abcdef]}}
destinations:
  app: {http: {url: http://app.example/, headers: {X-Shop: one}, bearer: the-first-token-of-the-app}}
  mail: {smtp: {host: mail.example, port: 25, from: a@example.com, tls: none}}
routes:
  - {name: all, from: stripe, to: app}
  - {name: paid, from: stripe, types: [invoice.paid], to: app, http: {body: body.a, headers: {X-A: body.a}}}
`
	parsed := func(text string) *Config {
		t.Helper()
		cfg, err := Parse("hooklatch.yaml", []byte(text), func(string) (string, bool) { return "", false })
		require.NoError(t, err, text)
		return cfg
	}
	for _, test := range []struct {
		old, instead string
		want         []string
	}{
		{"", "", nil},
		{"localhost/a", "localhost/b", nil},
		{"name: all, from", "name: every, from", []string{"route all: renamed to every"}},
		{"name: paid, from: stripe,", "name: every, from: '*',", []string{"route paid: removed", "route every: added"}},
		{"X-A: body.a", "X-A: body.b", []string{"route paid: changed in http.headers.X-A"}},
		{"types: [invoice.paid], ", "when: body.a == 1, ", []string{"route paid: changed in types, when"}},
		{"X-Shop: one", "X-Shop: two", []string{"destination app: changed in secrets"}},
		{"the-first-token-of-the-app", "the-other-token-of-the-app", []string{"destination app: changed in secrets"}},
		{"from: a@example.com", "from: b@example.com", []string{"destination mail: changed in smtp.from"}},
		{"  mail: {smtp", "  post: {smtp", []string{"destination mail: renamed to post"}},
		{"whsec_0123456789abcdef", "whsec_fedcba9876543210", nil},
		{"secrets: [whsec", "max_body: 2MiB, secrets: [whsec", []string{"source stripe: changed in max_body"}},
	} {
		var got []string
		for _, c := range parsed(text).Changes(parsed(strings.Replace(text, test.old, test.instead, 1))) {
			got = append(got, c.Section+" "+c.Name+": "+c.Line())
		}
		require.Equal(t, test.want, got, test.instead)
	}
}
