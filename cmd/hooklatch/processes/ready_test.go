package processes

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// reloads repeats the command reload until it says that the process has reloaded its configuration.
func reloads(t *testing.T, pid, path string, args ...string) {
	t.Helper()
	require.Eventually(t, func() bool { // on a busy machine, the process may not announce itself in time
		var c clitest.Command
		code := c.Run(t.Context(), append(append([]string{"reload"}, args...), "--config", path)...)
		if code != cli.ExitOK {
			t.Log(c.Stderr.String())
		}
		return code == cli.ExitOK && c.Stdout.String() == "process "+pid+" has reloaded "+path+"\n"
	}, clitest.Patience, clitest.Tick)
}

// Service managers learn from exit codes whether a process works, and whether a reload took effect.
func TestAServiceManagerIsToldHowItWent(t *testing.T) {
	t.Parallel()
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	path := clitest.WriteServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := strings.Replace(string(text), "localhost:0", free[0], 1)
	require.NotEqual(t, string(text), whole)
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(whole)
	fails := func(args ...string) string {
		t.Helper()
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), append(args, "--config", path)...), c.Stdout.String())
		return c.Stderr.String()
	}
	require.Contains(t, fails("ready"), "connection refused")
	require.Contains(t, fails("reload"), "connection refused")

	p := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text")
	p.Says(t, "msg=ready")
	pid := strconv.Itoa(p.Cmd.Process.Pid)
	isReady := func(args ...string) {
		t.Helper()
		require.Eventually(t, func() bool { // on a busy machine, a response may take too long
			var c clitest.Command
			return c.Run(t.Context(), append([]string{"ready"}, args...)...) == cli.ExitOK && c.Stdout.String() == "ready\n"
		}, clitest.Patience, clitest.Tick)
	}
	isReady("--config", path)
	isReady("--url", "http://"+free[0])
	reloads(t, pid, path, pid)
	require.Contains(t, fails("reload", "1"), "has the PID "+pid+", not 1")

	write(strings.Replace(whole, "provider: stripe", "provider: stripy", 1))
	require.Contains(t, fails("reload"), "the process was not asked to reload: "+path)
	routes := strings.Index(whole, "\nroutes:")
	require.Positive(t, routes)
	write(whole[:routes] + "\n") // the file has no mistakes, but the process refuses it
	require.Contains(t, fails("reload"), "has no routes, and the configuration in effect has")
	isReady("--config", path)
	write(whole)
	reloads(t, pid, path)

	p.Signal(t, syscall.SIGTERM)
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
	require.Contains(t, fails("ready"), "connection refused")
}

// The command reads the new configuration, whose tokens the process does not know before the
// reload. Behind a proxy that authenticates users, there are no tokens.
func TestReloadDoesNotNeedATokenThatTheProcessKnows(t *testing.T) {
	t.Parallel()
	const former, next = "former-token-0123456789", "next-token-0123456789"
	database := pgtest.URL(t, pgtest.New(t))
	for name, signIn := range map[string][2]string{
		"another token": {"token: " + former, "token: " + next},
		"other tokens":  {"tokens: [{name: ann, token: " + former + ", role: admin}]", "tokens: [{name: bob, token: " + next + ", role: admin}]"},
		"only a proxy": {
			"auth: {proxy: {trusted_proxies: [10.0.0.0/8], user: X-User}, roles: {admin: 'user == \"ann\"'}}",
			"auth: {proxy: {trusted_proxies: [10.0.0.0/8], user: X-User}, roles: {admin: 'user == \"ann\"'}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free, err := freeport.Addresses(1)
			require.NoError(t, err)
			path := clitest.WriteServedConfig(t, database)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			written := func(signIn string) string {
				return strings.NewReplacer("localhost:0", free[0], "\nadmin:\n", "\nadmin:\n  "+signIn+"\n").Replace(string(text))
			}
			write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
			write(written(signIn[0]))
			p := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text")
			p.Says(t, "msg=ready")
			pid := strconv.Itoa(p.Cmd.Process.Pid)
			write(written(signIn[1]))
			reloads(t, pid, path, pid)
			reloads(t, pid, path)
			require.NotContains(t, p.Stderr.String(), "admin request refused")

			refused := written(signIn[0])
			write(refused[:strings.Index(refused, "\nroutes:")] + "\n")
			var c clitest.Command
			require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "reload", pid, "--config", path))
			require.Contains(t, c.Stderr.String(), "the reload failed: see the log of process "+pid)
			p.Signal(t, syscall.SIGTERM)
			require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
		})
	}
}

// A process whose listener is not on a loopback address reports its reloads only to owners of its
// tokens.
func TestReloadOfAProcessThatReportsNothing(t *testing.T) { //nolint:paralleltest // this process receives SIGHUP
	for _, signIn := range []string{"token: next-token-0123456789", "auth: {proxy: {trusted_proxies: [10.0.0.0/8], user: X-User}, roles: {admin: 'user == \"ann\"'}}"} {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGHUP)
		var reloaded atomic.Bool
		listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(asked) > 0 {
				reloaded.Store(true)
			}
			answer := `{"ready":true}`
			if reloaded.Load() && r.Header.Get("Authorization") != "" {
				answer = `{"ready":true,"reloads":{"pid":1,"tried":1}}`
			}
			_, _ = io.WriteString(w, answer)
		}))
		path := clitest.WriteConfig(t, "postgres://127.0.0.1:1/none")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		served := strings.NewReplacer("localhost:0", listener.Listener.Addr().String(), "\nadmin:\n", "\nadmin:\n  "+signIn+"\n").Replace(string(text))
		require.NoError(t, os.WriteFile(path, []byte(served), 0o600))
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "reload", "--config", path))
		require.Contains(t, c.Stderr.String(), "does not report its PID")
		require.Empty(t, asked)
		clitest.RequireMisused(t, "reload", "x", "--config", path)
		pid := strconv.Itoa(os.Getpid())
		said := clitest.Must(t, "reload", pid, "--config", path)
		if strings.HasPrefix(signIn, "token") {
			require.Equal(t, "process "+pid+" has reloaded "+path+"\n", said)
		} else {
			require.Equal(t, "process "+pid+" was asked to reload "+path+"; its log has the result\n", said)
		}
		require.Equal(t, os.Signal(syscall.SIGHUP), <-asked)
		signal.Stop(asked)
		listener.Close()
	}
}

// Another program may listen at the address.
func TestReadyRefusesWhatIsNoAdminListener(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "ready", "--url", "http://"+listener.Addr().String()))
	require.Contains(t, c.Stderr.String(), "is not from an admin listener of Hooklatch")
}
