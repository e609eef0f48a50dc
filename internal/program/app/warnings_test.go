package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	return cfg
}

// about returns the warnings of one check.
func about(check string, warnings []Warning) []string {
	var messages []string
	for _, w := range warnings {
		if w.Check == check {
			messages = append(messages, w.Message)
		}
	}
	return messages
}

func TestWarnsOfAnUnverifiedConnectionToAnotherMachine(t *testing.T) {
	t.Parallel()
	const at = "the connection to Postgres at "
	for url, host := range map[string]string{
		"postgres://u:canary@db.example.com/x":                                          "db.example.com",
		"postgres://u:canary@db.example.com/x?sslmode=disable":                          "db.example.com",
		"postgres://u:canary@db.example.com/x?sslmode=require":                          "db.example.com",
		"postgres://u:canary@db.example.com/x?sslmode=verify-ca":                        "db.example.com",
		"postgres://u:canary@db.example.com/x?sslmode=verify-full":                      "",
		"postgres://u:canary@localhost,10.0.0.5/x":                                      "10.0.0.5",
		"postgres://u:canary@localhost/x":                                               "",
		"postgres://u:canary@127.0.0.1/x?sslmode=disable":                               "",
		"postgres://u:canary@[::1]/x":                                                   "",
		"host=/var/run/postgresql user=u password=canary":                               "",
		"host=10.0.0.5 user=u password=canary sslmode=prefer":                           "10.0.0.5",
		"postgres://u:canary@db1.example.com,db2.example.com/x?sslmode=verify-full":     "",
		"postgres://u:canary@db.example.com/x?sslmode=verify-full&sslrootcert=system":   "",
		"postgres://u:canary@localhost,db2.example.com:5433/x?sslmode=prefer&port=5432": "db2.example.com",
	} {
		for _, warnings := range [][]Warning{
			Warnings(parse(t, "database: {url: \""+url+"\"}"), secret.Value{}),
			Warnings(parse(t, "database: {url: \"postgres://ignored.example.com/x\"}"), secret.New(url)),
		} {
			got := about("sslmode", warnings)
			if host == "" {
				require.Empty(t, got, url)
				continue
			}
			require.Len(t, got, 1, url)
			require.Contains(t, got[0], at+host+" ", url)
			require.NotContains(t, got[0], "canary")
		}
	}
	both := parse(t, "database: {url: postgres://pooler.example.com/x, direct_url: postgres://db.example.com/x}")
	require.Len(t, about("sslmode", Warnings(both, secret.Value{})), 2)
}

func TestWarnsOfConnectionsThatAreOverridden(t *testing.T) {
	t.Parallel()
	const url = "postgres://localhost/x"
	cfg := parse(t, "database: {url: "+url+", direct_url: postgres://localhost/direct, read_url: postgres://localhost/read}")
	const why = " is not used: the URL from DATABASE_URL or --database-url differs from database.url and overrides it"
	require.Equal(t, []string{"test.yaml:1: database.direct_url:" + why, "test.yaml:1: database.read_url:" + why},
		about("override", Warnings(cfg, secret.New("postgres://localhost/other"))))
	require.Empty(t, about("override", Warnings(cfg, secret.New(url))))
	require.Empty(t, about("override", Warnings(cfg, secret.Value{})))
}

func TestWarnsOfStatementsWithAllOurRights(t *testing.T) {
	t.Parallel()
	cfg := parse(t, `destinations:
  mine: {sql: {statements: {note: SELECT 1}, role: books}}
  ours: {sql: {statements: {note: SELECT 1}}}
`)
	require.Equal(t, []string{"test.yaml:3: destinations.ours.sql: runs its statements with all rights of the role of database.url, including those on the ledger"},
		about("roles", Warnings(cfg, secret.Value{})))
}

func TestWarnsOfASearchPathThatStatementsNoLongerUse(t *testing.T) {
	t.Parallel()
	const destinations = "destinations: {mine: {sql: {statements: {note: SELECT 1}, search_path: [app]}}, ours: {sql: {statements: {note: SELECT 1}}}}"
	for url, want := range map[string]int{
		"postgres://localhost/x?search_path=app":                1,
		"postgres://localhost/x?options=-c%20search_path%3Dapp": 1,
		"postgres://localhost/x":                                0,
		"postgres://localhost/x?options=-c%20work_mem%3D64MB":   0,
	} {
		cfg := parse(t, "database: {url: \""+url+"\"}\n"+destinations)
		require.Len(t, about("search_path", Warnings(cfg, secret.Value{})), want, url)
	}
}

func TestWarnsOfSigningInOverPlainHTTP(t *testing.T) {
	t.Parallel()
	for text, warned := range map[string]bool{
		"admin: {token: canary-token-0123456789, console_url: http://ops.example.com}":  true,
		"admin: {token: canary-token-0123456789, console_url: https://ops.example.com}": false,
		"admin: {token: canary-token-0123456789, console_url: http://localhost:8081}":   false,
		"admin: {token: canary-token-0123456789, listen: 0.0.0.0:8081}":                 false, // no console URL is configured
		"admin: {console_url: http://ops.example.com}":                                  false,
	} {
		got := about("console", Warnings(parse(t, text), secret.Value{}))
		require.Equal(t, warned, len(got) == 1, "%s: %v", text, got)
	}
}

func TestWarnsOfARouteWithoutAMessageForAChat(t *testing.T) {
	t.Parallel()
	cfg := parse(t, `sources: {s: {provider: github, secrets: [canary-secret-0123456789]}}
destinations:
  chat: {http: {preset: slack, secret_url: "https://hooks.slack.com/services/T/B/canary"}}
  app: {http: {url: "https://app.example.com/"}}
routes:
  - {name: bare, from: s, to: chat}
  - {name: headers, from: s, to: chat, http: {headers: {X-A: '"1"'}}}
  - {name: text, from: s, to: chat, http: {text: '"hello"'}}
  - {name: body, from: s, to: chat, http: {body: '{"text": "hello"}'}}
  - {name: formatted, from: s, to: chat, forward: {}}
  - {name: other, from: s, to: app}
`)
	const says = `has no message for destination "chat": it forwards events unchanged, which slack refuses`
	require.Equal(t, []string{`test.yaml:6: routes[0].to: route "bare" ` + says, `test.yaml:7: routes[1].to: route "headers" ` + says},
		about("chat", Warnings(cfg, secret.Value{})))
}
