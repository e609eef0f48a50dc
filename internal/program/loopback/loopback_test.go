package loopback_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/loopback"
)

func TestCalledByANameOfThisMachine(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8082": true, "127.0.0.1": true, "127.0.0.1:8082": true, "127.9.9.9:1": true, "[::1]:8082": true, "[::1]": true,
		"[::ffff:127.0.0.1]:80": true,
		"":                      false, "evil.example.com": false, "evil.example.com:8082": false, "localhost.evil.example.com": false,
		"127.0.0.1.evil.example.com": false, "10.0.0.1:8082": false, "0.0.0.0": false,
	} {
		require.Equal(t, want, loopback.Called(&http.Request{Host: host}), host)
	}
}

func TestFromThisMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, host string
		header       http.Header
		want         bool
	}{
		{"127.0.0.1:1", "localhost:8081", nil, true},
		{"[::1]:1", "[::1]:8081", nil, true},
		{"[::ffff:127.0.0.1]:1", "127.0.0.1", nil, true},
		{"10.0.0.1:1", "localhost:8081", nil, false},
		{"127.0.0.1:1", "ops.example.com", nil, false},
		{"127.0.0.1:1", "localhost:8081", http.Header{"X-Forwarded-For": {"127.0.0.1"}}, false},
		{"127.0.0.1:1", "localhost:8081", http.Header{"Forwarded": {"for=127.0.0.1"}}, false},
		{"", "localhost:8081", nil, false},
	} {
		require.Equal(t, c.want, loopback.From(&http.Request{RemoteAddr: c.client, Host: c.host, Header: c.header}), c)
	}
}
