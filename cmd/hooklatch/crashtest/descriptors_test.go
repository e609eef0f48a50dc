package crashtest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// openFiles returns an option that starts a process with a limit of n open files.
func openFiles(n int) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, n), "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
}

// crowd opens connections from addresses in separate networks, sends a request on each, and keeps
// the answered ones open.
func crowd(t *testing.T, address string, n int) (open []net.Conn) {
	t.Helper()
	for i := range n {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(1+i%200), byte(i/200), 1)}, Timeout: patience}
		conn, err := dialer.Dial("tcp", address)
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err != nil {
			continue
		}
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			open = append(open, conn)
		}
	}
	return open
}

// Unauthenticated senders that fill every listener of a process leave enough file descriptors for
// Postgres, receivers, known senders and signed-in users.
func TestStrangersLeaveDescriptors(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.MaxConns(4))
	receiver := newBlockedReceiver(t)
	g := newProcess(t, pool, "serve", quickAndSlow(receiver))
	g.signedIn(t, 100)
	g.start(t, openFiles(640))
	require.Contains(t, g.log.String(), "the limit is 640 open files")
	g.deliverMany(t, "before", 1)
	status, _ := g.ask(t, adminToken, "/api/events", "", nil)
	require.Equal(t, http.StatusOK, status)

	admin := strings.TrimSuffix(strings.TrimPrefix(g.ready, "http://"), "/readyz")
	for _, address := range []string{strings.TrimPrefix(g.url, "http://"), admin, strings.TrimPrefix(g.url, "http://"), admin} {
		if open := crowd(t, address, 600); len(open) == 0 {
			t.Skip("this machine has only one loopback address")
		}
	}
	g.client.CloseIdleConnections() // so that the requests below need new connections
	g.deliverMany(t, "beside", 50)
	done(t, pool, 51)
	status, _ = g.ask(t, adminToken, "/api/events", "", nil)
	require.Equal(t, http.StatusOK, status)
	g.awaitReady(t)
	require.Zero(t, strings.Count(g.log.String(), "too many open files"))
	g.stop(t)
}
