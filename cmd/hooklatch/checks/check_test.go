package checks

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestCheckOfAFreshDatabaseSaysHowToFixIt(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, pgtest.URL(t, pgtest.New(t, pgtest.Empty())))
	up := (&clitest.System{ConfigPath: path}).Printed("run: hooklatch migrate up")
	code, found := clitest.RunCheck(t, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	require.Equal(t, []doctor.Finding{{
		Level: doctor.Problem, Check: "schema", Message: `schema "hooklatch" has no tables yet`, Fix: up,
	}}, found.Of("schema"))
	require.Empty(t, found.Of("partitions"))
	c := clitest.Command{Name: "go run ./cmd/hooklatch"}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "check", "--config", path))
	require.Regexp(t, `FAIL  schema +schema "hooklatch" has no tables yet\n +-> `+regexp.QuoteMeta(up)+`\n`, c.Stdout.String())
	require.Contains(t, c.Stdout.String(), "FAIL  fsync ") // test servers run without fsync
	require.Empty(t, c.Stderr.String())
	asJSON := clitest.Command{}
	require.Equal(t, cli.ExitFailed, asJSON.Run(t.Context(), "check", "--json", "--config", path))
	require.Contains(t, asJSON.Stdout.String(), `"fix": "`+up+`"`)

	require.Contains(t, clitest.Must(t, "migrate", "status", "--config", path), "0001_inbox                pending")
	require.Contains(t, clitest.Must(t, "migrate", "up", "--config", path), "hooklatch 0001_inbox")
	require.Equal(t, "the schema is up to date\n", clitest.Must(t, "migrate", "up", "--config", path))
	require.Contains(t, clitest.Must(t, "migrate", "status", "--config", path), "applied 20")
	_, found = clitest.RunCheck(t, "--config", path)
	require.Equal(t, 1, found.Problems, "%+v", found.Findings)
	require.Equal(t, doctor.Problem, found.Of("fsync")[0].Level)

	clitest.Must(t, "migrate", "down", "--steps", "1", "--yes", "--config", path)
	_, found = clitest.RunCheck(t, "--config", path)
	require.Len(t, found.Of("schema"), 1)
	require.Contains(t, found.Of("schema")[0].Message, "is pending")
	require.Empty(t, found.Of("partitions"), "deliveries can be stored")
	require.Contains(t, clitest.Must(t, "migrate", "down", "--all", "--yes", "--config", path), "down  hooklatch 0001_inbox")
	_, found = clitest.RunCheck(t, "--config", path)
	require.Len(t, found.Of("schema"), 1)
}

func TestCheckOfADurableServerIsFine(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, pgtest.URL(t, pgtest.New(t, pgtest.Durable())))
	code, found := clitest.RunCheck(t, "--config", path)
	require.Zero(t, code)
	require.Zero(t, found.Problems, "%+v", found.Findings)
	require.Zero(t, found.Warnings, "%+v", found.Findings)
	require.Contains(t, clitest.Must(t, "check", "--config", path), "no problems found\n")
}

func TestCheckReportsAllMistakesOfAConfiguration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`database: {url: postgres://u@127.0.0.1:1/none}
sources:
  stripe: {provider: stripe, secrets: [whsec_0123456789abcdef]}
destinations:
  app: {http: {url: http://localhost:3000/}}
routes:
  - name: broken
    from: "*"
    to: app
    when: body.data.object.amount >
    key: event.nothing
`), 0o600))
	code, found := clitest.RunCheck(t, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	mistakes := found.Of("configuration")
	require.Len(t, mistakes, 2, "%+v", mistakes)
	require.Contains(t, mistakes[0].Message, path+":10: routes[0].when: ")
	require.Contains(t, mistakes[1].Message, path+":11: routes[0].key: ")
	require.Equal(t, doctor.Problem, found.Of("database")[0].Level)

	// serve reports the same problems.
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "serve", "--config", path))
	require.Contains(t, c.Stderr.String(), "hooklatch: "+path+":10: routes[0].when: ")
	require.Contains(t, c.Stderr.String(), "hooklatch: "+path+":11: routes[0].key: ")
}

func TestCheckWarnsOfWhatIsSeldomMeant(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`database: {url: postgres://u@127.0.0.1:1/none}
sources:
  stripe: {provider: stripe, secrets: [whsec_0123456789abcdef], handlers: true}
destinations:
  app: {http: {url: http://localhost:3000/}}
routes:
  - {name: swallows, from: stripe, types: [customer.updated], to: app, key: body.data.object.id}
  - {name: fine, from: stripe, types: [customer.updated], to: app, key: 'body.data.object.id + event.id'}
  - {name: once, from: stripe, types: [invoice.paid], to: app, key: body.data.object.id}
  - {name: before, from: stripe, to: app, forward: {headers: original}}
  - {name: meant, from: stripe, to: app, forward: {headers: original, also: []}}
  - {name: more, from: stripe, to: app, forward: {headers: original, also: [User-Agent]}}
  - {name: named, from: stripe, to: app, forward: {headers: original, allow: [Stripe-Signature]}}
`), 0o600))
	_, found := clitest.RunCheck(t, "--config", path)
	left := found.Of("handlers")
	require.Len(t, left, 1+7, "the source, and each route that receives none of its events")
	require.Contains(t, left[1].Message, path+`:7: routes[0].from: route "swallows" receives no events of source "stripe": handlers: true leaves them to Go handlers`)
	require.Len(t, found.Of("keys"), 1)
	forwards := found.Of("forward")
	require.Len(t, forwards, 1, "%+v", forwards)
	require.Contains(t, forwards[0].Message, path+":10: routes[3].forward: forwards only the sender's own headers")
	require.Contains(t, forwards[0].Fix, `also: ["*"]`)
	require.Contains(t, found.Of("keys")[0].Message, path+`:7: routes[0].key: "body.data.object.id" contains nothing that varies`)
}
