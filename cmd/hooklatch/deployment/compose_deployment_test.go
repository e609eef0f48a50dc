package deployment

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// deployment runs the services of compose.yaml as processes on this machine, with their scripts,
// commands, environments and roles, on its own Postgres server.
type deployment struct {
	compose composeFile
	server  *url.URL          // the superuser's URL
	env     map[string]string // replaces variables of compose.yaml
	logs    lockedBuffer
}

// lockedBuffer receives the output of several processes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("there is no psql")
	}
	server, err := embedded.Start(t.Context(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	d := &deployment{compose: readCompose(t), env: map[string]string{}}
	d.server, err = url.Parse(server.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(d.logs.String())
		}
	})
	return d
}

// deployMigrated returns a deployment with roles, tables and rights.
func deployMigrated(t *testing.T) *deployment {
	t.Helper()
	d := deploy(t)
	d.createRoles(t)
	config, _, _ := configure(t)
	require.NoError(t, d.command(t, "migrate", config, d.compose.Services["migrate"].Command...).Run())
	d.grant(t)
	return d
}

// environment returns the environment of a service, with this machine's Postgres.
func (d *deployment) environment(t *testing.T, service string) []string {
	t.Helper()
	set := maps.Clone(d.compose.Services[service].Environment)
	for name, value := range set {
		set[name] = strings.Replace(interpolate(value), "@postgres:5432/", "@"+d.server.Host+"/", 1)
	}
	maps.Copy(set, d.env)
	environment := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), clitest.AsProgram + "=1"}
	for name, value := range set {
		environment = append(environment, name+"="+value)
	}
	return environment
}

// script runs a script with the environment of a service. The script must print nothing.
func (d *deployment) script(t *testing.T, service string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), args[0], args[1:]...)
	command.Env = append(d.environment(t, service), "PGHOST="+d.server.Hostname(), "PGPORT="+d.server.Port())
	if service == "postgres" { // in its container, psql needs no password
		password, _ := d.server.User.Password()
		command.Env = append(command.Env, "POSTGRES_USER="+d.server.User.Username(), "PGPASSWORD="+password)
	}
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

// createRoles runs the script that the Postgres image runs when it creates the server.
func (d *deployment) createRoles(t *testing.T) {
	t.Helper()
	const script = "docs/examples/compose/database.sh"
	require.Contains(t, d.compose.Services["postgres"].Volumes, "./"+script+":/docker-entrypoint-initdb.d/database.sh:ro")
	d.script(t, "postgres", "sh", filepath.Join(repository, script))
	password := cmp.Or(d.env["POSTGRES_PASSWORD"], interpolate(d.compose.Services["postgres"].Environment["POSTGRES_PASSWORD"]))
	d.server.User = url.UserPassword(d.server.User.Username(), password)
}

func (d *deployment) grant(t *testing.T) {
	t.Helper()
	const script = "docs/examples/compose/grants.sql"
	service := d.compose.Services["grants"]
	require.Contains(t, service.Volumes, "./"+script+":/grants.sql:ro")
	text := strings.Replace(strings.Join(service.Entrypoint, " "), "/grants.sql", filepath.Join(repository, script), 1)
	d.script(t, "grants", strings.Fields(text)...)
}

// command prepares a command of the program with the environment of a service. The configuration
// replaces the one that the service mounts.
func (d *deployment) command(t *testing.T, service, config string, args ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	text := strings.Replace(strings.Join(args, " "), "/etc/hooklatch/hooklatch.yaml", config, 1)
	command := exec.CommandContext(t.Context(), executable, strings.Fields(text)...)
	command.Env = d.environment(t, service)
	command.Stdout, command.Stderr = &d.logs, &d.logs
	return command
}

// start starts the process of a service, and returns when it is ready.
func (d *deployment) start(t *testing.T, service, config, admin string) {
	t.Helper()
	process := d.command(t, service, config, d.compose.Services[service].Command...)
	require.NoError(t, process.Start())
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(3 * time.Minute); ; {
		select {
		case err := <-ended:
			ended <- err
			require.NoError(t, err, "%s ended", service)
		case <-time.After(50 * time.Millisecond):
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/readyz", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		if err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s is not ready", service)
	}
}

// configure writes the configuration that the services mount, with free addresses instead of its
// ports. Receivers are on this machine, and values of events are indexed.
func configure(t *testing.T) (path, gateway, admin string) {
	t.Helper()
	free, err := freeport.Addresses(2)
	require.NoError(t, err)
	text := string(readFile(t, "docs/examples/compose/hooklatch.yaml"))
	for old, replacement := range map[string]string{
		"\n  schema:":  "\n  allow: [fsync_off]\n  schema:",                               // test databases run without fsync
		"\ngateway:\n": "\ngateway:\n  accept_timeout: 60s\n  read_header_timeout: 60s\n", // a busy machine must not cause a 503
		`":8080"`:      free[0], `":8081"`: free[1], "10.0.0.0/8": "127.0.0.0/8", "provider: stripe\n": "provider: stripe\n    search: [/data/object/customer]\n",
	} {
		require.Contains(t, text, old)
		text = strings.ReplaceAll(text, old, replacement)
	}
	path = filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path, "http://" + free[0], "http://" + free[1]
}

// pool connects as the role of a service.
func (d *deployment) pool(t *testing.T, service string) *pgxpool.Pool {
	t.Helper()
	given := interpolate(d.compose.Services[service].Environment["DATABASE_URL"])
	pool, err := pgxpool.New(t.Context(), strings.Replace(given, "@postgres:5432/", "@"+d.server.Host+"/", 1))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
