package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

var update = flag.Bool("update", false, "write the expected files anew instead of comparing with them")

// environment contains the variables for the files in testdata.
var environment = map[string]string{
	"APP_SECRET":            "raw:canary-app",
	"CANARY":                "canary-value",
	"DATABASE_URL":          "postgres://me:canary-database@localhost:5432/app",
	"EMPTY":                 "",
	"FORTY":                 "40",
	"HOOKLATCH_ADMIN_TOKEN": "canary-admin-0123456789",
	"HOST":                  "127.0.0.1",
	"INJECTION":             `canary", listen: "0.0.0.0:1" # ${HOST}`,
	"PORT":                  "2525",
	"RATE":                  "5/m",
	"SECONDS":               "3s",
	"SIZE":                  "4KiB",
	"STRIPE_WEBHOOK_SECRET": "canary-stripe",
	"YES":                   "true",
}

func lookup(name string) (string, bool) {
	value, ok := environment[name]
	return value, ok
}

// files returns the paths of the files in testdata that match a pattern, by name.
func files(t *testing.T, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	byName := map[string]string{}
	for _, path := range paths {
		byName[strings.TrimSuffix(filepath.Base(path), ".yaml")] = path
	}
	return byName
}

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	for name, path := range files(t, "good.*.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Load(path, lookup)
			require.NoError(t, err)
			require.Equal(t, path, cfg.Path())

			printed, err := cfg.YAML()
			require.NoError(t, err)
			expectFile(t, strings.TrimSuffix(path, ".yaml")+".printed", string(printed))
		})
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for name, path := range files(t, "bad.*.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(path, lookup)
			var problems Problems
			require.ErrorAs(t, err, &problems)
			expectFile(t, strings.TrimSuffix(path, ".yaml")+".errors", err.Error()+"\n")
		})
	}
}

// Printed and reported text must not contain any file's secrets (I12). All secrets contain the word
// canary, which no key contains.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	for name, path := range files(t, "*.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Load(path, lookup)
			if err != nil {
				require.NotContains(t, err.Error(), "canary")
				return
			}
			printed, err := cfg.YAML()
			require.NoError(t, err)
			require.NotContains(t, string(printed), "canary")
			require.NotContains(t, cfg.Problem("database.url", "is wrong").Error(), "canary")
		})
	}
}

func TestSecretsAreRead(t *testing.T) {
	t.Parallel()
	cfg, err := Load("testdata/good.secret-files.yaml", lookup)
	require.NoError(t, err)
	require.Equal(t, "postgres://me:canary-file-database@localhost/app", cfg.Database.URL.Reveal())
	require.Equal(t, "canary-file-number-one", cfg.Admin.Token.Reveal())
	secrets := cfg.Sources["stripe"].Secrets
	require.Len(t, secrets, 2)
	require.Equal(t, "raw:canary-file-two-new", secrets[0].Value.Reveal())
	require.Equal(t, "raw:canary-file-two-old", secrets[1].Value.Reveal())
	require.Len(t, cfg.Destinations["app"].HTTP.Sign.StandardWebhooks, 2)
	require.Equal(t, "canary-file-number-one", cfg.Destinations["app"].HTTP.Bearer.Reveal())
	require.Equal(t, "canary-file-number-one", cfg.Destinations["legacy"].HTTP.Basic.Password.Reveal())
	require.Equal(t, "canary-file-number-one", cfg.Destinations["mail"].SMTP.Password.Reveal())
}

// A variable's content is only a value: it can neither add keys nor refer to other variables.
func TestVariablesAreValues(t *testing.T) {
	t.Parallel()
	cfg, err := Load("testdata/good.environment.yaml", lookup)
	require.NoError(t, err)
	require.Equal(t, environment["INJECTION"], cfg.Admin.Token.Reveal())
	require.Equal(t, "127.0.0.1:8081", cfg.Admin.Listen)
	require.Equal(t, `"${HOME} and $$"`, cfg.Routes[0].HTTP.Body)
	require.Equal(t, 2525, cfg.Destinations["mail"].SMTP.Port)
	require.True(t, cfg.Destinations["app"].HTTP.PropagateTrace)
}

func TestProblemHasThePositionOfTheField(t *testing.T) {
	t.Parallel()
	cfg, err := Load("testdata/good.everything.yaml", lookup)
	require.NoError(t, err)

	lines := strings.Split(read(t, cfg.Path()), "\n")
	at := func(path, text string) {
		t.Helper()
		var problem Problem
		require.ErrorAs(t, cfg.Problem(path, "is wrong"), &problem)
		require.Equal(t, path, problem.Path)
		require.Contains(t, lines[problem.Line-1], text)
	}
	at("routes[0].when", "amount_paid > 0")
	at("routes[1].http.url", "https://app.example.com/customers/")
	at("sources.custom.event_id.pointer", "event_id")
	at("destinations.mail.smtp.no_such_key", "smtp:") // nearest enclosing line
}

func TestLoadWithoutFile(t *testing.T) {
	t.Parallel()
	_, err := Load(filepath.Join(t.TempDir(), "no.yaml"), lookup)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// expectFile compares got with a file's text, or writes got to the file with -update.
func expectFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	require.Equal(t, read(t, path), got, "run go test ./internal/program/config -update when this is meant")
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestCurrentSecret(t *testing.T) {
	t.Parallel()
	cfg, err := Load("testdata/good.everything.yaml", lookup)
	require.NoError(t, err)
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	got, ok := cfg.Sources["stripe"].CurrentSecret(now)
	require.True(t, ok)
	require.Equal(t, "canary-stripe-new", got.Reveal())

	bound := Source{Secrets: cfg.Sources["standard"].Secrets[1:]}
	for at, want := range map[time.Time]bool{
		now.AddDate(0, -1, 0): false, now: true, now.AddDate(0, 1, 0): false,
	} {
		_, ok := bound.CurrentSecret(at)
		require.Equal(t, want, ok, at)
	}
}

func TestRetentionIsFilledIn(t *testing.T) {
	t.Parallel()
	parse := func(text string) *Config {
		t.Helper()
		cfg, err := Parse("retention.yaml", []byte(text), nil)
		require.NoError(t, err)
		return cfg
	}
	cfg := parse("sources: {stripe: {provider: stripe, secrets: [the-first-secret]}, own: {provider: twilio, secrets: [the-first-secret], retention: {dedup: 40d}}}\ngateway: {public_url: https://h.example.com}")
	require.Equal(t, 90*day, cfg.Sources["stripe"].Retention.Dedup)
	require.Equal(t, 40*day, cfg.Sources["own"].Retention.Dedup)
	require.Equal(t, 30*day, cfg.Retention.Payloads)
	cfg = parse("retention: {dedup: 2d}\nsources: {twilio: {provider: twilio, secrets: [the-first-secret], public_url: https://h.example.com/t}}")
	require.Equal(t, 2*day, cfg.Sources["twilio"].Retention.Dedup)
	require.Equal(t, 2*day, cfg.Retention.Payloads, "payloads are not kept longer than events")
}

// The default of retention.dedup is never below a provider's floor. A value one second below the
// floor is refused, and the error gives the floor and its reason.
func TestRetentionFloorOfEveryProvider(t *testing.T) {
	t.Parallel()
	for _, name := range catalog.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := catalog.Describe(name)
			require.NoError(t, err)
			source := "sources:\n  a:\n    provider: " + name + "\n    " + strings.ReplaceAll(p.Example, "\n", "\n    ") + "\n"
			load := func(more string) error {
				cfg, err := Parse("floor.yaml", []byte("retention: {payloads: 1s}\n"+source+more), nil)
				if err == nil {
					return cfg.Problem("", "none")
				}
				return err
			}
			require.NotContains(t, load("").Error(), "the floor", "the default is above the floor")
			at := func(d time.Duration) string { return "    retention: {dedup: " + FormatDuration(d) + "}\n" }
			require.NotContains(t, load(at(p.Floor())).Error(), "the floor")
			require.ErrorContains(t, load(at(p.Floor()-time.Second)),
				"is below the floor of "+FormatDuration(p.Floor())+" of provider "+name+" ("+WhyFloor(p.Provider)+")")
		})
	}
}

// GitHub limits the content, but a form is longer than the content that it carries. A source of
// GitHub therefore accepts forms up to gateway.max_buffered.
func TestMaxBodyOf(t *testing.T) {
	t.Parallel()
	cfg, err := Parse("max.yaml", []byte(`
gateway: {max_buffered: 60MiB}
sources:
  code: {provider: github, secrets: [correct horse battery staple]}
  own: {provider: github, secrets: [correct horse battery staple], max_body: 2MiB}
  pay: {provider: stripe, secrets: [correct horse battery staple]}
`), nil)
	require.NoError(t, err)
	for source, want := range map[string]int64{"code": 60 << 20, "own": 2 << 20, "pay": 1 << 20, "none": 0} {
		require.Equal(t, want, cfg.MaxBodyOf(source), source)
	}
}
