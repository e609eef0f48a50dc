package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{", "a: &a [*a]", "sources: {a: {provider: stripe, secrets: [${X}]}}",
		"routes: [{name: a, from: '*', to: b}]\n---\n", "gateway: {listen: \"${X}:$${\", max_body: 1GiB}", "? [a]\n: b", "<<: {}", "!!binary x",
		"database: {url: postgres://a:b@c/d}\nadmin: {token: |\n  x\n}", "destinations: {a: {http: {url: 'http://[::1]:1/'}, rate: 1/h, allow_private: [10.0.0.0/8]}}",
		"sources: {a: {provider: hmac, header: X, event_id: {fields: [/a, /b]}, secrets: the-secret}}",
		"sources: {a: {provider: stripe, secrets: [{value: the-secret, not_before: 2026-12-01T00:00:00Z}, {file: b}], retention: {dedup: 1d2h}}}", "\ufeff{}", "\x00", "a: 'b\n", "%YAML 1.2\n---\n",
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir() // empty, so that no *_file key finds a file
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse(dir+"/fuzz.yaml", data, func(string) (string, bool) { return "canary-value", true })
		if err != nil {
			require.Nil(t, cfg)
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.NotContains(t, err.Error(), "canary-value")
			return
		}
		printed, err := cfg.YAML()
		require.NoError(t, err)
		require.NotEmpty(t, printed)
		require.Len(t, cfg.Hash(), hashLength)
	})
}

func TestExpand(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "a", "NESTED": "${A}", "EMPTY": ""}[name]
		return value, ok
	}
	for _, tc := range []struct {
		text, want string
		expanded   bool
	}{
		{"", "", false},
		{"$", "$", false},
		{"$A and {A}", "$A and {A}", false},
		{"${A}", "a", true},
		{"-${A}-${A}-", "-a-a-", true},
		{"${EMPTY}", "", true},
		{"$${A}", "${A}", false},
		{"$$${A}", "$${A}", false},
		{"${NESTED}", "${A}", true},
		{"$${", "${", false},
		{"${A}$${A}", "a${A}", true},
	} {
		got, expanded, err := expand(tc.text, env)
		require.NoError(t, err, tc.text)
		require.Equal(t, tc.want, got, tc.text)
		require.Equal(t, tc.expanded, expanded, tc.text)
	}
	for _, text := range []string{"${", "${A", "${}", "${1}", "${A-B}", "${NO}", "a ${A} ${"} {
		_, _, err := expand(text, env)
		require.Error(t, err, text)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1500ms": 1500 * time.Millisecond, "1h30m": 90 * time.Minute, "36h": 36 * time.Hour,
		"1d": day, "90d": 90 * day, "1d12h": 36 * time.Hour, "0d5s": 5 * time.Second, "0s": 0, "-1ns": -1,
	} {
		got, err := parseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := parseDuration(FormatDuration(got))
		require.NoError(t, err, text)
		require.Equal(t, got, again, text)
	}
	for _, text := range []string{"", "d", "1", "-1d", "1.5d", "1d-1h", "1d+1h", "1dd", "1d2", "1d1d", "99999999d", "1w", "1 d"} {
		_, err := parseDuration(text)
		require.Error(t, err, text)
	}
	for d, want := range map[time.Duration]string{
		90 * day: "90d", 36 * time.Hour: "36h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 90 * time.Second: "1m30s",
		20 * time.Second: "20s", 0: "0s", time.Hour + time.Second: "1h0m1s", 27*time.Hour + 35*time.Minute: "27h35m",
	} {
		require.Equal(t, want, FormatDuration(d))
	}
}

func TestSecretsOverlap(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time {
		if hour < 0 {
			return time.Time{}
		}
		return time.Date(2026, 12, 1, hour, 0, 0, 0, time.UTC)
	}
	for _, test := range []struct {
		from, until, otherFrom, otherUntil int
		want                               bool
	}{
		{-1, -1, -1, -1, true},
		{1, 2, -1, -1, true},
		{1, 2, 2, 3, true}, // both ends are included
		{1, 2, 3, 4, false},
		{-1, 2, 3, -1, false},
		{-1, 3, 2, -1, true},
		{1, 4, 2, 3, true},
	} {
		a := Secret{NotBefore: at(test.from), NotAfter: at(test.until)}
		b := Secret{NotBefore: at(test.otherFrom), NotAfter: at(test.otherUntil)}
		require.Equal(t, test.want, a.overlaps(b), test)
		require.Equal(t, test.want, b.overlaps(a), test)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"github", "stripe", "standard-webhooks", "to"}
	for given, want := range map[string]string{
		"strip": "stripe", "STRIPE": "stripe", "stirpe": "stripe", "gihtub": "github", "standard_webhook": "standard-webhooks", "t": "to",
		"paypal": "", "x": "", "": "",
	} {
		got, ok := nearest(given, words)
		require.Equal(t, want != "", ok, given)
		if ok {
			require.Equal(t, want, got, given)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	const base = `
gateway: {listen: ":8080"}
sources: {stripe: {provider: stripe, secrets: [the-first-secret]}}
destinations: {app: {http: {url: http://localhost, bearer: one, sign: {standard_webhooks: raw:whatever}, headers: {X-Key: one}}}}
routes: [{name: all, from: stripe, to: app}]
`
	hash := func(old, replacement string) string {
		t.Helper()
		text := base
		if old != "" {
			require.Contains(t, text, old)
			text = strings.ReplaceAll(text, old, replacement)
		}
		cfg, err := Parse("hash.yaml", []byte(text), nil)
		require.NoError(t, err)
		return cfg.Hash()
	}
	same := hash("", "")
	require.Len(t, same, hashLength)
	require.Equal(t, same, hash("", ""))
	for old, replacement := range map[string]string{
		"[the-first-secret]":              "[the-second-secret, the-third-secret]",
		"bearer: one":                     "bearer: two",
		"X-Key: one":                      "X-Key: two",
		"standard_webhooks: raw:whatever": "standard_webhooks: [\"raw:whatever\", \"raw:else\"]",
		":8080":                           ":9090",
		"gateway:":                        "retention: {dedup: 120d}\ngateway:",
	} {
		require.Equal(t, same, hash(old, replacement), replacement)
	}
	for old, replacement := range map[string]string{
		"http://localhost": "http://localhost:1", "name: all": "name: most", "from: stripe": `from: "*"`, "X-Key": "X-Other",
		"provider: stripe": "provider: github", "secrets: [the-first-secret]": "secrets: [the-first-secret], dedup: content", "to: app": "to: app, types: [a]",
	} {
		require.NotEqual(t, same, hash(old, replacement), replacement)
	}
}

// The decoder supports every type in Config.
func TestDecoderKnowsEveryType(t *testing.T) {
	t.Parallel()
	var visit func(typ reflect.Type, path string)
	visit = func(typ reflect.Type, path string) {
		value := reflect.New(typ).Elem()
		switch {
		case typ.Kind() == reflect.Pointer, typ.Kind() == reflect.Map, typ.Kind() == reflect.Slice:
			visit(typ.Elem(), path)
		case takesScalar(value):
			if typ != secretType && typ != keyType {
				require.NotEqual(t, "cannot be set in a file", setScalar(value, "x", true, true), path)
			}
		default:
			for _, f := range fieldsOf(typ) {
				visit(f.Type, join(path, f.Name))
			}
		}
	}
	visit(reflect.TypeFor[Config](), "")
}

func TestDefault(t *testing.T) {
	t.Parallel()
	parsed, err := Parse("empty.yaml", nil, nil)
	require.NoError(t, err)
	byDefault, err := new(Default()).YAML()
	require.NoError(t, err)
	printed, err := parsed.YAML()
	require.NoError(t, err)
	require.Equal(t, string(printed), string(byDefault))
	require.Equal(t, "http://127.0.0.1:8081", parsed.Admin.ConsoleURL)
}
