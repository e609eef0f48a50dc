package scenario_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func settings() scenario.Settings {
	return scenario.Settings{
		DatabaseURL: secret.New("postgres://postgres@127.0.0.1:1/torture"), GatewayListen: "127.0.0.1:8001", AdminListen: "127.0.0.1:8002",
		ReceiverURL: "http://127.0.0.1:8003", MailHost: "127.0.0.1", MailPort: 8004,
	}
}

func load(t *testing.T, s scenario.Settings) error {
	t.Helper()
	cfg, err := read(t, s)
	if err != nil {
		return err
	}
	return app.CheckConfig(cfg)
}

func read(t *testing.T, s scenario.Settings) (*config.Config, error) {
	t.Helper()
	file, err := scenario.File(s)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return config.Load(path, os.LookupEnv)
}

func TestConfigurationIsTaken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scenario.Settings){
		"short times":          func(*scenario.Settings) {},
		"times of production":  func(s *scenario.Settings) { s.Production = true },
		"another after reload": func(s *scenario.Settings) { s.Variation = 7 },
		"settings of a user": func(s *scenario.Settings) {
			s.Mine = scenario.Own{
				Gateway: map[string]any{"max_in_flight": 64}, Worker: map[string]any{"dispatch_workers": 5},
				Destination: map[string]any{"timeout": "7s", "retry": map[string]any{"initial": "3s"}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings()
			change(&s)
			require.NoError(t, load(t, s))
		})
	}
}

func TestBrokenConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	s := settings()
	s.Broken = true
	require.ErrorContains(t, load(t, s), "nowhere")
}

func TestSettingsOfAUserWin(t *testing.T) {
	t.Parallel()
	s := settings()
	s.Mine.Destination = map[string]any{"timeout": "7s"}
	file, err := scenario.File(s)
	require.NoError(t, err)
	require.Contains(t, string(file), `timeout: "7s"`)
	require.NotContains(t, string(file), `timeout: "1s"`)
	require.Contains(t, string(file), "breaker:", "the other settings stay")
}

// A deployment is recognised by a source that no other configuration has.
func TestEachDeploymentHasASourceOfItsOwn(t *testing.T) {
	t.Parallel()
	former := settings()
	for _, change := range scenario.Changes() {
		next := former
		next.Deployment = former.Deployment.Next(change)
		cfg, err := read(t, next)
		require.NoError(t, err)
		require.NoError(t, app.CheckConfig(cfg))
		require.Contains(t, cfg.Sources, next.Deployment.Mark())
		require.NotContains(t, cfg.Sources, former.Deployment.Mark())
		former = next
	}
}
