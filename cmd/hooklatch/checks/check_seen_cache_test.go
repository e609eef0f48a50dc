package checks

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
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
	s := clitest.NewSystem(t, clitest.SystemOptions{
		Change: func(cfg *config.Config) {
			cfg.Gateway.SeenCache = &config.SeenCache{Redis: secret.New(server.URL()), TTL: 1}
		},
	})
	path := s.ConfigPath + ".redis"
	text, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	given := strings.Replace(string(text), "\ngateway:\n", "\ngateway:\n  seen_cache: {redis: "+server.URL()+"}\n", 1)
	require.NotEqual(t, string(text), given)
	require.NoError(t, os.WriteFile(path, []byte(given), 0o600))

	require.Eventually(t, func() bool { // a busy machine may make Redis slow
		_, found := clitest.RunCheck(t, "--config", path)
		require.Len(t, found.Of("seen_cache"), 1)
		return found.Of("seen_cache")[0].Level == doctor.OK
	}, clitest.Patience, clitest.Tick)
	require.Eventually(t, func() bool {
		clitest.Must(t, s.Args("send", "github", "--times", "2")...)
		return strings.Contains(clitest.GetBody(t, clitest.Get(t, s.Admin+"/metrics").Body), `hooklatch_seen_cache_lookups_total{result="miss"}`)
	}, clitest.Patience, clitest.Tick, "the gateway asks Redis")

	require.NoError(t, server.Kill())
	_, found := clitest.RunCheck(t, "--config", path)
	require.Len(t, found.Of("seen_cache"), 1)
	require.Equal(t, doctor.Warning, found.Of("seen_cache")[0].Level)
	require.Contains(t, found.Of("seen_cache")[0].Message, "connection refused")
	clitest.Must(t, s.Args("send", "github", "--times", "2")...)
}
