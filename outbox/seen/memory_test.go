package seen_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/redisserver"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/outbox/seen"
)

// patience is the maximum time that tests wait for an expected state. It is long, because the
// machine may be busy.
const patience = 2 * time.Minute

// startRedis starts a server. CI must have Redis; elsewhere the test is skipped without it.
func startRedis(t *testing.T) *redisserver.Server {
	t.Helper()
	server, err := redisserver.Start(t.Context())
	if errors.Is(err, redisserver.ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	return server
}

func newMemory(t *testing.T, url string, log *bytes.Buffer) *seen.Memory {
	t.Helper()
	opts := seen.Options{URL: secret.New(url)}
	if log != nil {
		opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	m, err := seen.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Stop(context.Background())) })
	return m
}

// get reads until Redis has responded in time, which a busy machine may delay.
func get(t *testing.T, m *seen.Memory, keys ...string) (values [][]byte) {
	t.Helper()
	require.Eventually(t, func() bool {
		var ok bool
		values, ok = m.Get(t.Context(), keys)
		return ok
	}, patience, time.Millisecond)
	return values
}

// set stores a value repeatedly until Redis returns it.
func set(t *testing.T, m *seen.Memory, key, value string) {
	t.Helper()
	require.Eventually(t, func() bool {
		m.Set(key, []byte(value), time.Minute)
		values, ok := m.Get(t.Context(), []string{key})
		return ok && string(values[0]) == value
	}, patience, time.Millisecond)
}

func TestProcessesShareValues(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	one, two := newMemory(t, server.URL(), nil), newMemory(t, server.URL(), nil)
	set(t, one, "hooklatch:a", "1")
	set(t, two, "hooklatch:b", "\x00\r\n2")
	require.Equal(t, [][]byte{[]byte("1"), nil, []byte("\x00\r\n2"), []byte("1")}, get(t, two, "hooklatch:a", "hooklatch:c", "hooklatch:b", "hooklatch:a"))

	var many sync.WaitGroup
	for i := range 500 {
		many.Go(func() {
			key := fmt.Sprint("hooklatch:", i)
			set(t, one, key, strconv.Itoa(i))
			if values, ok := two.Get(t.Context(), []string{key, "hooklatch:a"}); ok {
				require.Equal(t, strconv.Itoa(i), string(values[0]))
				require.Equal(t, "1", string(values[1]))
			}
		})
	}
	many.Wait()
}

func TestValuesExpire(t *testing.T) {
	t.Parallel()
	m := newMemory(t, startRedis(t).URL(), nil)
	require.Eventually(t, func() bool {
		m.Set("hooklatch:a", []byte("1"), 500*time.Millisecond)
		return get(t, m, "hooklatch:a")[0] != nil
	}, patience, time.Millisecond)
	require.Eventually(t, func() bool { return get(t, m, "hooklatch:a")[0] == nil }, patience, 10*time.Millisecond)
}

// Lookups in a killed, emptied or frozen Redis find nothing, and Redis is used again afterwards.
// Callers wait for Redis at most 5 milliseconds, and not at all once the circuit is open. With
// HOOKLATCH_LONG=1, on a quiet machine, most callers must not wait.
func TestBrokenRedisDelaysNoCaller(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	m := newMemory(t, server.URL(), nil)
	for name, fault := range map[string]struct{ begin, end func() error }{
		"killed": {server.Kill, func() error { return server.Restart(t.Context()) }},
		"frozen": {server.Freeze, server.Thaw},
	} {
		set(t, m, "hooklatch:a", name)
		require.NoError(t, fault.begin(), name)
		var waits []time.Duration
		for range 500 {
			began := time.Now()
			_, ok := m.Get(t.Context(), []string{"hooklatch:a"})
			waits = append(waits, time.Since(began))
			require.False(t, ok, name)
			m.Set("hooklatch:b", nil, time.Minute)
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // 500 callers within a few seconds
		}
		slices.Sort(waits)
		quick := 10 // without the circuit, every caller would wait for 5 ms, even on a busy machine
		if os.Getenv("HOOKLATCH_LONG") != "" {
			quick = 250
		}
		require.Less(t, waits[quick], 4*time.Millisecond, name)
		require.NoError(t, fault.end(), name)
		get(t, m, "hooklatch:a")
	}
	set(t, m, "hooklatch:a", "1")
	require.NoError(t, server.Command(t.Context(), "FLUSHALL"))
	require.Nil(t, get(t, m, "hooklatch:a")[0])
}

// If the server at the address is not a Redis, it delays neither callers nor Stop, and the log does
// not contain the password.
func TestNotARedis(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"silent":  func(net.Conn) {},
		"closing": func(c net.Conn) { c.Close() },
		"web":     func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"binary":  func(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte{0xff, 0, '$', '*'}, 1000)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var conns sync.WaitGroup
			conns.Go(func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					conns.Go(func() {
						defer conn.Close()
						serve(conn)
						_, _ = conn.Read(make([]byte, 1<<16))
						_, _ = conn.Read(make([]byte, 1<<16))
					})
				}
			})
			t.Cleanup(conns.Wait)
			t.Cleanup(func() { require.NoError(t, listener.Close()) })
			var log bytes.Buffer
			m := newMemory(t, "redis://user:canary@"+listener.Addr().String(), &log)
			for range 300 {
				_, ok := m.Get(t.Context(), []string{"hooklatch:a"})
				require.False(t, ok)
				time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the loop lasts longer than the log's threshold
			}
			require.NoError(t, m.Stop(t.Context()))
			require.Contains(t, log.String(), "seen cache does not respond in time")
			require.NotContains(t, log.String(), "canary")
			_, err = seen.Try(t.Context(), secret.New("redis://user:canary@"+listener.Addr().String()))
			require.Error(t, err)
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

func TestTryReportsWhetherRedisStores(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	var took time.Duration
	var err error
	require.Eventually(t, func() bool { // a busy machine may need more than the second that Try allows
		took, err = seen.Try(t.Context(), secret.New(server.URL()))
		return err == nil
	}, patience, time.Millisecond)
	require.Positive(t, took)
	_, err = seen.Try(t.Context(), secret.New("redis://:wrong@"+server.URL()[len("redis://"):]))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "wrong@")
	require.NoError(t, server.Kill())
	_, err = seen.Try(t.Context(), secret.New(server.URL()))
	require.Error(t, err)
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"redis://localhost", "redis://user:secret@10.0.0.1:6379/2", "rediss://:secret@redis.example.com:6380", "unix:///run/redis.sock"} {
		require.NoError(t, seen.CheckURL(secret.New(good)), good)
	}
	for _, bad := range []string{
		"", "localhost:6379", "http://canary", "redis://", "unix://canary", "redis://localhost/canary", "rediss://canary?skip_verify=1",
		"redis://canary?addr=b", "redis://a:canary@b:port", "redis://canary%zz",
	} {
		err := seen.CheckURL(secret.New(bad))
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "canary")
		_, err = seen.New(seen.Options{URL: secret.New(bad)})
		require.Error(t, err, bad)
	}
}
