package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// initFolder returns a folder for init, and the flag that names its configuration.
func initFolder(t *testing.T) (dir string, flag []string) {
	t.Helper()
	dir = t.TempDir()
	return dir, []string{"--config", filepath.Join(dir, config.DefaultPath)}
}

func readIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

// withDotenv returns a command with the variables of a folder's .env, also as files in a
// credentials directory.
func withDotenv(t *testing.T, dir string) *clitest.Command {
	t.Helper()
	c := &clitest.Command{Env: map[string]string{"CREDENTIALS_DIRECTORY": t.TempDir()}}
	for name, value := range firstrun.ReadDotenv(readIn(t, dir, firstrun.Dotenv)) {
		c.Env[name] = value.Reveal()
		require.NoError(t, os.WriteFile(filepath.Join(c.Env["CREDENTIALS_DIRECTORY"], firstrun.Credential(name)), []byte(value.Reveal()), 0o600))
	}
	return c
}

func TestInitWritesWhatCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, target := range firstrun.Targets() {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			dir, flag := initFolder(t)
			url := pgtest.URL(t, pgtest.New(t, pgtest.Empty()))
			var c clitest.Command
			require.Zero(t, c.Run(t.Context(), append([]string{"init", "stripe", "github", "--yes", "--for", string(target), "--database", url}, flag...)...), c.Stderr.String())
			require.Contains(t, c.Stdout.String(), "at Stripe\n  1. ")
			require.Contains(t, c.Stdout.String(), "https://hooks.example.com/webhooks/github")

			if target == firstrun.Compose { // the test's build has no version, so no released image exists for it
				require.Contains(t, readIn(t, dir, firstrun.ComposeFile), "image: "+firstrun.BuiltImage+"\n")
				require.Contains(t, c.Stdout.String(), "docker build --tag "+firstrun.BuiltImage+" CLONE")
			}
			if target == firstrun.Systemd {
				require.Contains(t, readIn(t, dir, config.DefaultPath), "  migrate: on_start")
			}

			checking := withDotenv(t, dir)
			if target == firstrun.Compose || target == firstrun.Kubernetes {
				require.Zero(t, checking.Run(t.Context(), append([]string{"migrate", "up"}, flag...)...), checking.Stderr.String())
			}
			code := checking.Run(t.Context(), append([]string{"check"}, flag...)...)
			// Test databases run without fsync, which check reports as a failure.
			out := strings.ReplaceAll(checking.Stdout.String(), "FAIL  fsync", "")
			require.NotContains(t, out, "FAIL", "exit code %d", code)
			require.Contains(t, out, "2 sources, 1 destination, 1 route")

			again := &clitest.Command{}
			require.Equal(t, cli.ExitFailed, again.Run(t.Context(), append([]string{"init", "stripe", "--yes"}, flag...)...))
			require.Contains(t, again.Stderr.String(), (&clitest.System{ConfigPath: flag[1]}).Printed("exists: edit it, add a source to it with `hooklatch init add PROVIDER`, or overwrite it with --force"))
			before := readIn(t, dir, firstrun.Dotenv)
			require.Zero(t, again.Run(t.Context(), append([]string{"init", "stripe", "--yes", "--force", "--for", string(target)}, flag...)...), again.Stderr.String())
			require.Equal(t, before, readIn(t, dir, firstrun.Dotenv), "--force keeps the secrets")

			info, err := os.Stat(filepath.Join(dir, firstrun.Dotenv))
			require.NoError(t, err)
			require.EqualValues(t, 0o600, info.Mode().Perm())
		})
	}
}

// An event that `send` signs with the written files is accepted by a server that uses them.
func TestInitLeadsToAnAcceptedEvent(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	free, err := freeport.Addresses(2)
	require.NoError(t, err)
	url := pgtest.URL(t, pgtest.New(t, pgtest.Empty()))
	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), append([]string{"init", "stripe", "--yes", "--database", url}, flag...)...), c.Stderr.String())
	require.Contains(t, c.Stdout.String(), "migrations done")
	require.NotContains(t, c.Stdout.String(), "migrate up")
	require.Contains(t, c.Stdout.String(), (&clitest.System{ConfigPath: flag[1]}).Printed("hooklatch send stripe"))
	require.Contains(t, c.Stdout.String(), "set -a; . "+dir+"/.env; set +a")
	text := strings.NewReplacer(
		"\ndatabase:\n", "\ndatabase:\n  allow: ["+config.AllowFsyncOff+"]\n",
		"\ngateway:\n", "\ngateway:\n  accept_timeout: 60s\n  read_header_timeout: 60s\n", // a busy machine must not cause a 503
	).Replace(readIn(t, dir, config.DefaultPath))
	require.Contains(t, text, "accept_timeout: 60s")
	require.NoError(t, os.WriteFile(filepath.Join(dir, config.DefaultPath), []byte(text), 0o600))

	env := withDotenv(t, dir)
	p := clitest.NewProgram(t, append([]string{"serve", "--listen", free[0], "--admin-listen", free[1], "--log-format", "text"}, flag...)...)
	for name, value := range env.Env {
		p.Cmd.Env = append(p.Cmd.Env, name+"="+value)
	}
	require.NoError(t, p.Cmd.Start())
	p.Says(t, "msg=ready")
	require.Zero(t, env.Run(t.Context(), append([]string{"send", "stripe", "--url", "http://" + free[0]}, flag...)...), env.Stderr.String())
	require.Contains(t, env.Stdout.String(), "1 accepted")
	p.Signal(t, syscall.SIGTERM)
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
}

func TestInitRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                 "no provider is named",
		"stripes":                          `no provider is named "stripes"`,
		"github stripe github":             "named twice",
		"stripe --for snap":                `target "snap": it must be one of binary, compose, systemd, kubernetes`,
		"stripe --to javascript:x":         "it must be an http or https URL",
		"stripe --to http://h/#x":          "nothing was written",
		"stripe --public-url http://h/?x":  "must not have a query",
		"stripe --to http://u:pw@h/":       "has a user name or password",
		"paypal":                           "set PAYPAL_WEBHOOK_SECRET in the environment",
		"stripe --for systemd --to h://x":  "http or https",
		"stripe --database postgres://h/'": "has a single quote",
		"stripe --for systemd --to http://h/?token=x": "may contain a secret",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			dir, flag := initFolder(t)
			var c clitest.Command
			require.NotZero(t, c.Run(t.Context(), append(append([]string{"init"}, strings.Fields(args)...), flag...)...))
			require.Contains(t, c.Stderr.String(), want)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

func TestInitKeepsSecretsOutOfTheRepository(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700)) // makes the folder a repository
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("node_modules"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, firstrun.Dotenv), []byte("DATABASE_URL=postgres://127.0.0.1:1/app\nSTRIPE_WEBHOOK_SECRET=whsec_0123456789abcdef0123\n"), 0o644)) // readable by every user before init
	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), append([]string{"init", "stripe"}, flag...)...), c.Stderr.String()) // without a terminal, init asks nothing
	require.Equal(t, "node_modules\n.env\n", readIn(t, dir, ".gitignore"))
	require.Contains(t, readIn(t, dir, firstrun.Dotenv), "DATABASE_URL=postgres://127.0.0.1:1/app\n")
	require.Contains(t, c.Stdout.String(), "Postgres does not answer yet")
	require.Contains(t, c.Stdout.String(), (&clitest.System{ConfigPath: flag[1]}).Printed("hooklatch migrate up"))

	require.Zero(t, c.Run(t.Context(), append([]string{"init", "add", "github"}, flag...)...), c.Stderr.String())
	require.Equal(t, "node_modules\n.env\n", readIn(t, dir, ".gitignore"))
	require.Contains(t, readIn(t, dir, config.DefaultPath), "\n  github:\n    provider: github\n")
	require.Zero(t, withDotenv(t, dir).Run(t.Context(), append([]string{"providers", "github"}, flag...)...))

	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), append([]string{"init", "stripe", "--force", "--database", "postgres://h/other"}, flag...)...))
	require.Contains(t, c.Stderr.String(), "defines another DATABASE_URL")
	c = clitest.Command{}
	none := &clitest.System{ConfigPath: filepath.Join(t.TempDir(), "none.yaml")}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), none.Args("init", "add", "github")...))
	require.Contains(t, c.Stderr.String(), none.Printed("write it with `hooklatch init github`"))
}

// withUmask runs a command in a process with the given umask. The command must succeed.
func withUmask(t *testing.T, umask string, args ...string) {
	t.Helper()
	p := clitest.NewProgram(t, args...)
	p.Cmd.Args = append([]string{"sh", "-c", "umask " + umask + `; exec "$0" "$@"`}, p.Cmd.Args...)
	var err error
	p.Cmd.Path, err = exec.LookPath("sh")
	require.NoError(t, err)
	require.NoError(t, p.Cmd.Run(), p.Stderr.String())
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode()
}

// The image and the unit read the configuration as a user other than the one who wrote it.
func TestInitDoesNotDependOnTheUmask(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	withUmask(t, "077", append([]string{"init", "stripe", "--yes", "--for", "compose"}, flag...)...)
	for name, want := range map[string]os.FileMode{config.DefaultPath: 0o644, firstrun.ComposeFile: 0o644, firstrun.Dotenv: 0o600} {
		require.Equal(t, want, modeOf(t, filepath.Join(dir, name)), name)
	}
}

// `init add` writes to the files themselves, which may be links, mounted in a container, or
// readable by the group of a service.
func TestInitAddChangesFilesInPlace(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	clitest.Must(t, append([]string{"init", "stripe"}, flag...)...)
	path, dotenv, ignored := flag[1], filepath.Join(dir, firstrun.Dotenv), filepath.Join(dir, ".gitignore")
	checkout := filepath.Join(t.TempDir(), "ours.yaml")
	require.NoError(t, os.Rename(path, checkout))
	require.NoError(t, os.Symlink(checkout, path))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700)) // makes the folder a repository
	require.NoError(t, os.WriteFile(ignored, []byte("node_modules\n"), 0o600))
	modes := map[string]os.FileMode{checkout: 0o640, dotenv: 0o640, ignored: 0o664}
	before := map[string]os.FileInfo{}
	for file, mode := range modes {
		require.NoError(t, os.Chmod(file, mode))
		info, err := os.Stat(file)
		require.NoError(t, err)
		before[file] = info
	}
	withUmask(t, "077", append([]string{"init", "add", "slack"}, flag...)...)
	for file, want := range map[string]string{checkout: "\n  slack:\n", dotenv: "\nSLACK_WEBHOOK_SECRET=", ignored: "\n.env\n"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), want)
		after, err := os.Stat(file)
		require.NoError(t, err)
		require.True(t, os.SameFile(before[file], after), file)
		require.Equal(t, modes[file], after.Mode(), file)
	}

	require.NoError(t, os.Chmod(dotenv, 0o644))
	withUmask(t, "077", append([]string{"init", "add", "github"}, flag...)...)
	require.Equal(t, os.FileMode(0o640), modeOf(t, dotenv), "not every user may read the secrets")

	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Rename(dotenv, elsewhere))
	require.NoError(t, os.Symlink(elsewhere, dotenv))
	text := readIn(t, dir, config.DefaultPath)
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), append([]string{"init", "add", "zoom"}, flag...)...))
	require.Contains(t, c.Stderr.String(), "path escapes from parent")
	require.Equal(t, text, readIn(t, dir, config.DefaultPath))
}

// The configuration that init add reads may be any that the program accepts. The error about an
// invalid configuration does not show the lines around the mistake.
func TestInitAddReadsWhatTheProgramReads(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	text := "database: {url: ${DATABASE_URL}}\nsources:\n  stripe: {provider: stripe, secrets: [${STRIPE_WEBHOOK_SECRET}]}\n"
	require.NoError(t, os.WriteFile(flag[1], []byte(text), 0o600))
	clitest.Must(t, append([]string{"init", "add", "github"}, flag...)...)
	require.Equal(t, strings.Replace(text, "sources:\n", "sources:\n  github:\n    provider: github\n    secrets: [\"${GITHUB_WEBHOOK_SECRET}\"]\n", 1), readIn(t, dir, config.DefaultPath))

	require.NoError(t, os.WriteFile(flag[1], []byte("admin: {token: canary-0123456789\nsources: [\n"), 0o600))
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), append([]string{"init", "add", "github"}, flag...)...))
	require.Contains(t, c.Stderr.String(), flag[1]+":")
	require.Contains(t, c.Stderr.String(), "is not valid YAML")
	require.NotContains(t, c.Stderr.String(), "canary")
}

// nextOf returns the commands that init prints below "next".
func nextOf(t *testing.T, out string) (commands []string) {
	t.Helper()
	_, next, found := strings.Cut(out, "\nnext\n")
	require.True(t, found, out)
	for line := range strings.Lines(next) {
		commands = append(commands, strings.TrimSpace(line))
	}
	return commands
}

// The commands that init and init add print for systemd install everything that the unit needs to
// start. A unit with a credential whose file is missing does not start.
func TestInitsCommandsInstallEveryCredential(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	system, bin := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{"sudo": `exec "$@"`, "systemctl": `echo "$@" >> ` + filepath.Join(system, "calls")} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	run := func(out string) {
		t.Helper()
		for _, command := range nextOf(t, out) {
			sh := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(command, "/etc/", system+"/etc/"))
			sh.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
			text, err := sh.CombinedOutput()
			require.NoError(t, err, "%s\n%s", command, text)
		}
	}
	run(clitest.Must(t, append([]string{"init", "stripe", "--for", "systemd"}, flag...)...))
	run(clitest.Must(t, append([]string{"init", "add", "slack"}, flag...)...))

	require.Equal(t, readIn(t, dir, config.DefaultPath), readIn(t, system, config.InstalledPath))
	conf, err := filepath.Glob(filepath.Join(system, "/etc/systemd/system/hooklatch.service.d/*.conf"))
	require.NoError(t, err)
	var lines strings.Builder
	for _, name := range conf {
		lines.WriteString(strings.ReplaceAll(readIn(t, "", name), system+"/etc/", "/etc/"))
	}
	for name, value := range firstrun.ReadDotenv(readIn(t, dir, firstrun.Dotenv)) {
		if name != "DATABASE_URL" && name != "HOOKLATCH_ADMIN_TOKEN" { // the unit itself passes these
			require.Contains(t, lines.String(), "\n"+firstrun.LoadCredential(name)+"\n")
		}
		file := filepath.Join(system, "/etc/hooklatch", firstrun.Credential(name))
		require.Equal(t, value.Reveal(), readIn(t, "", file))
		require.Equal(t, os.FileMode(0o600), modeOf(t, file))
	}
	require.True(t, strings.HasSuffix(readIn(t, system, "calls"), "daemon-reload\nrestart hooklatch\n"), "a reload does not pass new credentials")

	// A source without a secret needs no restart.
	require.Equal(t, []string{"sudo install -D -m 644 " + flag[1] + " /etc/hooklatch/hooklatch.yaml", "sudo systemctl reload hooklatch"},
		nextOf(t, clitest.Must(t, append([]string{"init", "add", "google-pubsub"}, flag...)...)))
}

// If a source is added later, the processes must get its secret too.
func TestInitAddSaysHowTheSecretArrives(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][]string{
		"binary": nil,
		"compose": {
			"add to `environment` in compose.yaml: SLACK_WEBHOOK_SECRET: ${SLACK_WEBHOOK_SECRET:?set it in .env}",
			"docker compose --file DIR/compose.yaml up --detach --wait",
		},
		"systemd": {
			`sudo sh -c '. DIR/.env; printf %s "$SLACK_WEBHOOK_SECRET" | install -m 600 /dev/stdin /etc/hooklatch/slack-webhook-secret'`,
			`printf '[Service]\nLoadCredential=slack-webhook-secret:/etc/hooklatch/slack-webhook-secret\n' | sudo install -D -m 644 /dev/stdin /etc/systemd/system/hooklatch.service.d/slack-webhook-secret.conf`,
			"sudo systemctl daemon-reload",
			"sudo install -D -m 644 DIR/hooklatch.yaml /etc/hooklatch/hooklatch.yaml",
			"sudo systemctl restart hooklatch   # a reload does not pass new credentials",
		},
		"kubernetes": {
			"kubectl create secret generic --from-env-file=DIR/.env --dry-run=client --output=yaml hooklatch | kubectl apply --filename=-",
			"{ echo config:; sed 's/^/  /' DIR/hooklatch.yaml; } | helm upgrade --reset-then-reuse-values webhooks CHART --values -   # CHART: the folder docs/kubernetes/chart of the repository",
		},
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			dir, flag := initFolder(t)
			clitest.Must(t, append([]string{"init", "stripe", "--for", target}, flag...)...)
			out := clitest.Must(t, append([]string{"init", "add", "slack"}, flag...)...)
			if want == nil {
				require.NotContains(t, out, "\nnext\n")
			} else {
				require.Equal(t, want, nextOf(t, strings.ReplaceAll(out, dir, "DIR")))
			}
			checking := withDotenv(t, dir)
			require.Zero(t, checking.Run(t.Context(), append([]string{"routes", "test", "slack"}, flag...)...), checking.Stderr.String())
		})
	}
}

func TestInitsUnitIsSound(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed here")
	}
	dir, flag := initFolder(t)
	clitest.Must(t, append([]string{"init", "stripe", "--for", "systemd"}, flag...)...)
	unit := filepath.Join(dir, "hooklatch.service")
	service, err := os.ReadFile("../../../docs/systemd/hooklatch.service")
	require.NoError(t, err)
	program, err := exec.LookPath("true") // in place of the program, which its package installs
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(unit, []byte(strings.ReplaceAll(string(service), "/usr/bin/hooklatch", program)), 0o600))
	require.NoError(t, os.Mkdir(unit+".d", 0o700))
	require.NoError(t, os.Rename(filepath.Join(dir, "credentials.conf"), filepath.Join(unit+".d", "credentials.conf")))
	verify := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit)
	out, err := verify.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
