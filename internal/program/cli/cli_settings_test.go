package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// The console's URL follows --admin-listen unless the configuration sets it.
func TestTheConsoleURLFollowsTheFlag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ configured, flag, want string }{
		{`{}`, "127.0.0.1:9000", "http://127.0.0.1:9000"},
		{`{}`, ":9000", "http://localhost:9000"},
		{`{listen: "localhost:0"}`, "127.0.0.1:9000", "http://127.0.0.1:9000"},
		{`{listen: ":8081", token: canary-token-0123456789}`, "0.0.0.0:9000", "http://localhost:9000"},
		{`{listen: "[::]:8081", token: canary-token-0123456789}`, "[::1]:9000", "http://[::1]:9000"},
		{`{console_url: "https://ops.example.com"}`, ":9000", "https://ops.example.com"},
		{`{console_url: "http://127.0.0.1:8081"}`, ":9000", "http://127.0.0.1:8081"},
	} {
		cfg, err := config.Parse("hooklatch.yaml", []byte("admin: "+c.configured), func(string) (string, bool) { return "", false })
		require.NoError(t, err)
		(&listenFlags{admin: c.flag}).override(cfg)
		require.Equal(t, c.flag, cfg.Admin.Listen)
		require.Equal(t, c.want, cfg.Admin.ConsoleURL, c.configured)
	}
}

// Printed commands contain the connection URL without its passwords.
func TestAPrintedURLHasNoPassword(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgres://u:canary@h1,h2:5433/x?sslmode=disable":                   "postgres://u@h1,h2:5433/x?sslmode=disable",
		"postgresql://u@h/x?password=canary&sslmode=disable":                 "postgresql://u@h/x?sslmode=disable",
		"postgres://u@h/x?sslpassword=canary&connect_timeout=1":              "postgres://u@h/x?connect_timeout=1",
		"postgres://u@h/a%20b?options=-c%20a%3Db":                            "postgres://u@h/a%20b?options=-c%20a%3Db",
		"host=h user=u password=canary dbname=x":                             "host=h user=u dbname=x",
		`user=u password = 'can\' ary canary' host='a b' sslpassword=canary`: "user=u host='a b'",
		`host=h password=can\ ary\'canary user=u`:                            "host=h user=u",
		"host=h application_name='password=x'":                               "host=h application_name='password=x'",
		"u:canary@h/x":                                                       "...",
		"postgres://u:canary@h:port/x":                                       "...",
	} {
		bare, had := withoutPasswords(given)
		require.Equal(t, want, bare, given)
		require.Equal(t, want != given && want != "...", had, given)
	}
}
