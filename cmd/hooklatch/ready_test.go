package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Service managers learn from exit codes whether a process works, and whether a reload took effect.
func TestAServiceManagerIsToldHowItWent(t *testing.T) {
	t.Parallel()
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	path := writeServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := strings.Replace(string(text), "localhost:0", free[0], 1)
	require.NotEqual(t, string(text), whole)
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(whole)
	fails := func(args ...string) string {
		t.Helper()
		var c command
		require.Equal(t, exitFailed, c.run(t.Context(), append(args, "--config", path)...), c.stdout.String())
		return c.stderr.String()
	}
	require.Contains(t, fails("ready"), "connection refused")
	require.Contains(t, fails("reload"), "connection refused")

	p := startProgram(t, "serve", "--config", path, "--log-format", "text")
	p.says(t, "msg=ready")
	pid := strconv.Itoa(p.cmd.Process.Pid)
	require.Equal(t, "ready\n", must(t, "ready", "--config", path))
	require.Equal(t, "ready\n", must(t, "ready", "--url", "http://"+free[0]))
	require.Equal(t, "process "+pid+" has reloaded "+path+"\n", must(t, "reload", pid, "--config", path))
	require.Contains(t, fails("reload", "1"), "has the PID "+pid+", not 1")

	write(strings.Replace(whole, "provider: stripe", "provider: stripy", 1))
	require.Contains(t, fails("reload"), "the process was not asked to reload: "+path)
	routes := strings.Index(whole, "\nroutes:")
	require.Positive(t, routes)
	write(whole[:routes] + "\n") // a file without mistakes that the process refuses
	require.Contains(t, fails("reload"), "has no routes, and the configuration in effect has")
	require.Equal(t, "ready\n", must(t, "ready", "--config", path))
	write(whole)
	must(t, "reload", "--config", path)

	p.signal(t, syscall.SIGTERM)
	require.NoError(t, p.cmd.Wait(), p.stderr.String())
	require.Contains(t, fails("ready"), "connection refused")
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
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), "ready", "--url", "http://"+listener.Addr().String()))
	require.Contains(t, c.stderr.String(), "is not from an admin listener of Hooklatch")
}
