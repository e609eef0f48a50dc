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
