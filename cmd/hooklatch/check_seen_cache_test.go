package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/redisserver"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestCheckSaysWhetherRedisResponds(t *testing.T) {
	t.Parallel()
	server, err := redisserver.Start(t.Context())
	if errors.Is(err, redisserver.ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	s := newSystem(t, systemOptions{
		change: func(cfg *config.Config) {
			cfg.Gateway.SeenCache = &config.SeenCache{Redis: secret.New(server.URL()), TTL: 1}
		},
	})
	path := s.configPath + ".redis"
	text, err := os.ReadFile(s.configPath)
	require.NoError(t, err)
	given := strings.Replace(string(text), "\ngateway:\n", "\ngateway:\n  seen_cache: {redis: "+server.URL()+"}\n", 1)
	require.NotEqual(t, string(text), given)
	require.NoError(t, os.WriteFile(path, []byte(given), 0o600))

	require.Eventually(t, func() bool { // a busy machine may make Redis slow
		_, found := runCheck(t, "--config", path)
		require.Len(t, found.of("seen_cache"), 1)
		return found.of("seen_cache")[0].Level == doctor.OK
	}, patience, tick)
	require.Eventually(t, func() bool {
		must(t, s.args("send", "github", "--times", "2")...)
		return strings.Contains(getBody(t, get(t, s.admin+"/metrics").Body), `hooklatch_seen_cache_lookups_total{result="miss"}`)
	}, patience, tick, "the gateway asks Redis")

	require.NoError(t, server.Kill())
	_, found := runCheck(t, "--config", path)
	require.Len(t, found.of("seen_cache"), 1)
	require.Equal(t, doctor.Warning, found.of("seen_cache")[0].Level)
	require.Contains(t, found.of("seen_cache")[0].Message, "connection refused")
	must(t, s.args("send", "github", "--times", "2")...)
}
