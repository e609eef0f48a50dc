package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// numbers are the sections with numbers, sizes and durations. %s stands for one of their fields.
var numbers = []struct {
	of   reflect.Type
	path string
	yaml string
}{
	{reflect.TypeFor[Database](), "database", `database: {%s}`},
	{reflect.TypeFor[Gateway](), "gateway", `gateway: {%s}`},
	{reflect.TypeFor[SeenCache](), "gateway.seen_cache", `gateway: {seen_cache: {redis: "redis://localhost", %s}}`},
	{reflect.TypeFor[Admin](), "admin", `admin: {%s}`},
	{reflect.TypeFor[worker.Options](), "worker", `worker: {%s}`},
	{reflect.TypeFor[Retention](), "retention", `retention: {%s}`},
	{reflect.TypeFor[Alerts](), "alerts", `alerts: {%s}`},
	{reflect.TypeFor[Source](), "sources.s", `sources: {s: {provider: stripe, secrets: [whsec_0123456789abcdef], %s}}`},
	{reflect.TypeFor[SourceRetention](), "sources.s.retention", `sources: {s: {provider: stripe, secrets: [whsec_0123456789abcdef], retention: {%s}}}`},
	{reflect.TypeFor[backfill.Settings](), "sources.s.backfill", `sources: {s: {provider: stripe, secrets: [whsec_0123456789abcdef], backfill: {token: t, endpoint: we_1, %s}}}`},
	{reflect.TypeFor[Destination](), "destinations.d", `destinations: {d: {http: {url: "http://localhost"}, %s}}`},
	{reflect.TypeFor[destination.Schedule](), "destinations.d.retry", `destinations: {d: {http: {url: "http://localhost"}, retry: {%s}}}`},
	{reflect.TypeFor[lane.Breaker](), "destinations.d.breaker", `destinations: {d: {http: {url: "http://localhost"}, breaker: {%s}}}`},
	{reflect.TypeFor[destination.HTTPOptions](), "destinations.d.http", `destinations: {d: {http: {url: "http://localhost", %s}}}`},
	{reflect.TypeFor[destination.EmailOptions](), "destinations.d.smtp", `destinations: {d: {smtp: {host: localhost, from: a@example.com, %s}}}`},
}

// An explicit zero is never silently replaced by the default.
func TestAZeroIsNotTheDefault(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, section := range numbers {
		for _, f := range fieldsOf(section.of) {
			of := section.of.FieldByIndex(f.Index).Type
			var zero string
			switch {
			case of == reflect.TypeFor[time.Duration]():
				zero = "0s"
			case of == reflect.TypeFor[size.Bytes](), of.Kind() == reflect.Int, of.Kind() == reflect.Int64 && of.PkgPath() == "":
				zero = "0"
			default:
				continue
			}
			tried++
			cfg, err := Parse("hooklatch.yaml", fmt.Appendf(nil, section.yaml, f.Name+": "+zero), lookup)
			path := section.path + "." + f.Name
			if err != nil {
				require.Contains(t, err.Error(), path+": ")
				continue
			}
			for _, s := range settingsIn("", printer{}.value("", reflect.ValueOf(*cfg))) {
				if s.Field == path {
					t.Errorf("%s: %s became %s", path, zero, s.Value)
				}
			}
		}
	}
	require.Greater(t, tried, 40)
}

// The parser refuses a value that no connection or message can have.
func TestValuesThatNothingCanUseAreRefused(t *testing.T) {
	t.Parallel()
	mail := func(fields string) string {
		return "destinations: {d: {smtp: {from: a@example.com, " + fields + "}}}\n"
	}
	toMany := make([]string, 101)
	for i := range toMany {
		toMany[i] = fmt.Sprintf("a%d@example.com", i)
	}
	alerts := func(recipient string) string {
		return mail("host: localhost") + fmt.Sprintf("alerts: {to: [{destination: d, recipient: %q}]}\n", recipient)
	}
	for text, path := range map[string]string{
		mail(`host: "mail.example.com:587"`):                                                  "destinations.d.smtp.host",
		mail(`host: "smtp://mail.example.com"`):                                               "destinations.d.smtp.host",
		mail(`host: "me@mail.example.com"`):                                                   "destinations.d.smtp.host",
		mail(`host: "mail example"`):                                                          "destinations.d.smtp.host",
		mail(`host: "[::1]"`):                                                                 "destinations.d.smtp.host",
		alerts(strings.Join(toMany, ", ")):                                                    "alerts.to[0].recipient",
		alerts(strings.Repeat("a", 400) + "@e.com"):                                           "alerts.to[0].recipient",
		"admin: {console_url: \"https://h/?a=b\"}\n":                                          "admin.console_url",
		"admin: {river_ui: \"https://h/?a=b\"}\n":                                             "admin.river_ui",
		`destinations: {d: {http: {url: "http://localhost"}, breaker: {window: 1ns}}}` + "\n": "destinations.d.breaker.window",
	} {
		_, err := Parse("hooklatch.yaml", []byte(text), lookup)
		require.Error(t, err, text)
		require.Contains(t, err.Error(), path+": ")
	}
	for _, text := range []string{
		mail(`host: mail.example.com`), mail(`host: "::1", tls: none`), mail(`host: 127.0.0.1, tls: none`), mail(`host: bücher.example`),
		alerts("ops@example.com, Ann <ann@bücher.example>"),
	} {
		_, err := Parse("hooklatch.yaml", []byte(text), lookup)
		require.NoError(t, err, text)
	}
}

// Programs on Windows write files with a byte order mark, with a space before the line break, or in
// UTF-16. The text around a secret never becomes part of the secret.
func TestASecretHasNothingAroundIt(t *testing.T) {
	t.Parallel()
	const want = "canary-0123456789abcdef"
	for _, field := range []string{
		"admin: {token_file: %s}",
		"sources: {stripe: {provider: stripe, secrets: [{file: %s}]}}",
		"sources: {stripe: {provider: stripe, secrets_file: %s}}",
		"destinations: {d: {http: {url: http://localhost, bearer_file: %s}}}",
		"alerts: {heartbeat_file: %s}",
		"database: {url_file: %s}",
	} {
		read := func(content string) (found []string, err error) {
			path := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			cfg, err := Parse("hooklatch.yaml", fmt.Appendf(nil, field, path), lookup)
			if err != nil {
				return nil, err
			}
			found = append(found, cfg.Admin.Token.Reveal(), cfg.Alerts.Heartbeat.Reveal(), cfg.Database.URL.Reveal())
			for _, s := range cfg.Sources["stripe"].Secrets {
				found = append(found, s.Value.Reveal())
			}
			if app := cfg.Destinations["d"].HTTP; app != nil {
				found = append(found, app.Bearer.Reveal())
			}
			return slices.DeleteFunc(found, func(one string) bool { return one == "" }), nil
		}
		secret := want
		switch {
		case strings.HasPrefix(field, "alerts"):
			secret = "https://example.com/" + want
		case strings.HasPrefix(field, "database"):
			secret = "postgres://u:" + want + "@localhost/app"
		}
		for _, content := range []string{secret, secret + "\n", secret + " \r\n", " " + secret + "\t\n\n", "\ufeff" + secret, "\ufeff" + secret + " \r\n"} {
			found, err := read(content)
			require.NoError(t, err, "%s: %q", field, content)
			require.Equal(t, []string{secret}, found, "%s: %q", field, content)
		}
		_, err := read("\xff\xfe" + strings.Join(strings.Split(secret, ""), "\x00") + "\x00")
		require.ErrorContains(t, err, "the file is not text in UTF-8", field)
		_, err = read("\ufeff \n")
		require.ErrorContains(t, err, "the file is empty", field)
	}
	_, err := Parse("hooklatch.yaml", []byte("admin: {token: \"\ufeff"+want+"\"}"), lookup)
	require.ErrorContains(t, err, "admin.token: contains a byte order mark (U+FEFF); a secret must not")
	require.NotContains(t, err.Error(), want)
}
