package processes

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// running is a dev command in the background.
type running struct {
	clitest.Command

	dir   string
	stop  context.CancelFunc
	ended chan int
}

// startDev starts dev on free ports, and returns when dev is ready. The method end stops it.
func startDev(t *testing.T, dir string, env map[string]string, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &running{dir: dir, stop: stop, ended: make(chan int, 1)}
	d.Env = env
	all := append([]string{
		"dev", "--dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--receiver-listen", "127.0.0.1:0", "--smtp-listen", "127.0.0.1:0", "--pg-port", "0",
	}, args...)
	go func() { d.ended <- d.Run(ctx, all...) }()
	require.Eventually(t, func() bool {
		return strings.Contains(d.Stdout.String(), "Ctrl-C stops everything.") || len(d.ended) > 0
	}, clitest.Patience, clitest.Tick)
	require.Contains(t, d.Stdout.String(), "ready in ", d.Stderr.String())
	t.Cleanup(stop)
	return d
}

func (d *running) end(t *testing.T) {
	t.Helper()
	d.stop()
	require.Zero(t, <-d.ended, d.Stderr.String())
}

// url finds an address in the output of a ready dev command.
func (d *running) url(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^  ` + name + ` +(http://[0-9.:]+)`).FindStringSubmatch(d.Stdout.String())
	require.NotNil(t, found, d.Stdout.String())
	return found[1]
}

func TestDevOnADatabaseOfTheUser(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": pgtest.URL(t, pgtest.New(t, pgtest.Empty()))}
	dir := filepath.Join(t.TempDir(), ".hooklatch")
	d := startDev(t, dir, env)
	require.Contains(t, d.Stdout.String(), "  hooklatch send stripe --type invoice.paid --times 340 --parallel 64 --config "+dir)
	config := filepath.Join(dir, "dev.yaml")
	require.Contains(t, clitest.Must(t, "send", "stripe", "--config", config, "--url", d.url(t, "webhooks")), "1 accepted")
	require.Eventually(t, func() bool {
		out := d.Stdout.String()
		return strings.Contains(out, "receiver  applied  stripe invoice.paid evt_") && strings.Contains(out, "mail      to jenny.rosen@example.com: ")
	}, clitest.Patience, clitest.Tick)
	require.Contains(t, clitest.GetBody(t, clitest.Get(t, d.url(t, "receiver")+"/seen").Body), `"times": 1`)
	d.end(t)

	ignore, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	require.NoError(t, err)
	require.Equal(t, "*\n", string(ignore))
	info, err := os.Stat(config)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// The secrets are kept.
	secrets := func() []string {
		text, err := os.ReadFile(config)
		require.NoError(t, err)
		all := regexp.MustCompile(`(secrets|standard_webhooks): \["[^"]*"`).FindAllString(string(text), -1)
		return slices.Compact(all) // both destinations sign with the same secret
	}
	before := secrets()
	require.Len(t, before, len(cli.DevSourceNames())+1)
	startDev(t, dir, env, "--forward", "http://localhost:1/hooks").end(t)
	require.Equal(t, before, secrets())
}

func TestDevOnTheEmbeddedPostgres(t *testing.T) {
	t.Parallel()
	dir := clitest.ReachableDir(t)
	d := startDev(t, dir, nil)
	config := filepath.Join(dir, "dev.yaml")
	out := clitest.Must(t, "send", "github", "--config", config, "--url", d.url(t, "webhooks"), "--times", "10", "--parallel", "4")
	require.Contains(t, out, "1 accepted, 9 duplicates")
	require.Contains(t, clitest.Must(t, "events", "list", "--config", config), "github")
	// The effect of one example is parked, which is only a warning.
	require.Contains(t, clitest.Must(t, "check", "--config", config), `schema "hooklatch" is up to date`)
	d.end(t)

	// Stored events still exist at the next start.
	d = startDev(t, dir, nil)
	require.Contains(t, clitest.Must(t, "events", "list", "--config", config), "github")
	d.end(t)
}

// A new database starts with four examples, so that the console has data to show. The examples are
// delivered only once.
func TestDevBeginsWithExamples(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	env := map[string]string{"DATABASE_URL": pgtest.URL(t, pool)}
	dir := filepath.Join(t.TempDir(), ".hooklatch")
	shown := map[string]string{ // pages, with a text that they contain once the examples are stored
		"/effects?state=done&event=stripe/evt_example_paid":     "2 rows",
		"/effects?state=parked&event=stripe/evt_example_parked": "1 rows",
		"/events?state=skipped":                                 "evt_example_skipped",
		"/events?has=duplicates":                                "evt_example_paid",
		"/quarantine?source=shopify&reason=wrong_signature":     "Verify 1 again",
	}
	d := startDev(t, dir, env)
	require.Equal(t, "  console    "+d.url(t, "console")+"/", strings.SplitN(d.Stdout.String(), "\n", 2)[0])
	hasAll := func(d *running) {
		for path, want := range shown {
			require.Eventually(t, func() bool {
				page := clitest.GetBody(t, clitest.Get(t, d.url(t, "console")+path).Body)
				return strings.Contains(page, want) || strconv.Itoa(strings.Count(page, `class="open mono"`))+" rows" == want
			}, clitest.Patience, clitest.Tick, path)
		}
	}
	hasAll(d)
	d.end(t)

	// Existing examples are not delivered again, and none is lost.
	d = startDev(t, dir, env)
	hasAll(d)
	d.end(t)
	startDev(t, filepath.Join(t.TempDir(), ".hooklatch"), env, "--forward", "http://127.0.0.1:9/hooks").end(t)
	var events, duplicates, refused int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*), sum(duplicates), (SELECT count(*) FROM hooklatch.rejected_deliveries)
		FROM hooklatch.processed_events`).Scan(&events, &duplicates, &refused))
	require.Equal(t, []int{3, 1, 1}, []int{events, duplicates, refused})
}

func TestDevOnATakenPortSaysWhichAndHowToChangeIt(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	addr := taken.Addr().String()
	for flag, what := range map[string]string{
		"--listen": "the gateway", "--admin-listen": "the admin listener",
		"--receiver-listen": "the demo receiver", "--smtp-listen": "the demo mail server",
	} {
		args := []string{"dev", "--dir", filepath.Join(t.TempDir(), ".hooklatch")}
		for _, other := range []string{"--listen", "--admin-listen", "--receiver-listen", "--smtp-listen"} {
			if other != flag {
				args = append(args, other, "127.0.0.1:0")
			}
		}
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), append(args, flag, addr)...))
		require.Equal(t, "hooklatch: address "+addr+" of "+what+" is in use by another program: choose another address with "+flag+"\n", c.Stderr.String())
	}
}

func TestDevPrintsTheSecretThatForwardsAreSignedWith(t *testing.T) {
	t.Parallel()
	env := map[string]string{"DATABASE_URL": pgtest.URL(t, pgtest.New(t, pgtest.Empty()))}
	dir := filepath.Join(t.TempDir(), ".hooklatch")
	d := startDev(t, dir, env, "--forward", "http://127.0.0.1:9/hooks", "--secret", "stripe=whsec_of_stripe_listen_0123456789")
	d.end(t)
	text, err := os.ReadFile(filepath.Join(dir, "dev.yaml"))
	require.NoError(t, err)
	sign := regexp.MustCompile(`standard_webhooks: \["?(whsec_[^"\]]+)`).FindStringSubmatch(string(text))
	require.NotNil(t, sign)
	require.Contains(t, d.Stdout.String(), "  signed     with "+sign[1]+" ")
	require.Contains(t, string(text), "whsec_of_stripe_listen_0123456789")
	for arg, want := range map[string]string{
		"canary":       "--secret number 1: it must be NAME=VALUE",
		"stripe=":      "--secret number 1: it must be NAME=VALUE",
		"strip=canary": `no source is named "strip"; the sources are stripe, github,`,
	} {
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "dev", "--dir", t.TempDir(), "--secret", arg, "--listen", "127.0.0.1:0",
			"--admin-listen", "127.0.0.1:0", "--receiver-listen", "127.0.0.1:0", "--smtp-listen", "127.0.0.1:0"))
		require.Contains(t, c.Stderr.String(), want)
		require.NotContains(t, c.Stderr.String(), "canary")
	}
}

func TestDevRunsAConfigurationOfTheUser(t *testing.T) {
	t.Parallel()
	const given = "whsec_of_the_flag_0123456789"
	// dev does not use the other URLs: nothing answers there.
	path := clitest.WriteText(t, `database: {url: "${DATABASE_URL}", direct_url: "postgres://127.0.0.1:1/none", read_url: "postgres://127.0.0.1:1/none"}
gateway: {listen: "127.0.0.1:0"}
admin: {listen: "127.0.0.1:0"}
sources: {payments: {provider: stripe, secrets: [whsec_of_the_file_0123456789]}}
`)
	ctx, stop := context.WithCancel(t.Context())
	d := &running{stop: stop, ended: make(chan int, 1)}
	go func() {
		d.ended <- d.Run(ctx, "dev", "--config", path, "--dir", clitest.ReachableDir(t), "--pg-port", "0", "--secret", "payments="+given)
	}()
	require.Eventually(t, func() bool {
		return strings.Contains(d.Stdout.String(), "Ctrl-C stops everything.") || len(d.ended) > 0
	}, clitest.Patience, clitest.Tick)
	require.Contains(t, d.Stdout.String(), "/webhooks/{payments}", d.Stderr.String())
	database := regexp.MustCompile(`export DATABASE_URL='?(postgres://[^'\s]+)`).FindStringSubmatch(d.Stdout.String())
	require.NotNil(t, database, d.Stdout.String())

	send := clitest.Command{Env: map[string]string{"DATABASE_URL": database[1]}}
	require.Zero(t, send.Run(t.Context(), "send", "payments", "--config", clitest.WriteText(t, strings.Replace(`database: {url: "${DATABASE_URL}"}
sources: {payments: {provider: stripe, secrets: [SECRET]}}
`, "SECRET", given, 1)), "--url", d.url(t, "webhooks")), send.Stderr.String())
	require.Contains(t, send.Stdout.String(), "1 accepted")
	list := clitest.Command{Env: send.Env}
	require.Zero(t, list.Run(t.Context(), "events", "list", "--config", path, "--database-url", database[1]), list.Stderr.String())
	require.Contains(t, list.Stdout.String(), "payments")
	d.end(t)

	// The password of the user's own database is not printed.
	own, err := url.Parse(pgtest.URL(t, pgtest.New(t, pgtest.Empty())))
	require.NoError(t, err)
	password, has := own.User.Password()
	require.True(t, has)
	ctx, stop = context.WithCancel(t.Context())
	d = &running{stop: stop, ended: make(chan int, 1)}
	d.Env = map[string]string{"DATABASE_URL": own.String()}
	go func() { d.ended <- d.Run(ctx, "dev", "--config", path, "--dir", clitest.ReachableDir(t)) }()
	require.Eventually(t, func() bool {
		return strings.Contains(d.Stdout.String(), "Ctrl-C stops everything.") || len(d.ended) > 0
	}, clitest.Patience, clitest.Tick)
	require.Contains(t, d.Stdout.String(), "other commands need the same DATABASE_URL", d.Stderr.String())
	require.NotContains(t, d.Stdout.String()+d.Stderr.String(), password)
	d.end(t)

	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "dev", "--config", path, "--forward", "http://localhost:3000"))
	require.Contains(t, c.Stderr.String(), "--forward applies to the configuration that dev writes")
}
