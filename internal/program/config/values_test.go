package config

import (
	"fmt"
	"reflect"
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
