package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/gateway"
)

func TestSourcesAreAsConfigured(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("sources.yaml", []byte(`
sources:
  code: {provider: github, secrets: [the-first-secret]}
  crm:
    provider: hmac
    header: X-Sig
    event_id: {pointer: /id}
    secrets: [the-new-secret, {value: the-old-secret, not_before: 2026-11-01T00:00:00Z, not_after: 2026-12-01T00:00:00Z}]
    replay_guard: refuse
    dedup: content
    dedup_window: 90s
    max_body: 2MiB
    public_url: https://hooks.example.com/crm
  pay: {provider: stripe, secrets: [the-first-secret]}
`), nil)
	require.NoError(t, err)
	sources, err := sourcesOf(cfg, nil)
	require.NoError(t, err)
	require.Len(t, sources, 3)

	code, crm, pay := sources[0], sources[1], sources[2]
	require.Equal(t, "code", code.Name)
	require.Equal(t, gateway.ReplayFlag, code.ReplayGuard, "its id is not signed")
	require.Zero(t, code.ContentWindow)
	require.Equal(t, gateway.ReplayOff, pay.ReplayGuard, "its id is signed")

	require.Equal(t, gateway.ReplayRefuse, crm.ReplayGuard)
	require.Equal(t, 90*time.Second, crm.ContentWindow)
	require.EqualValues(t, 2<<20, crm.MaxBody)
	require.Equal(t, "https://hooks.example.com/crm", crm.PublicURL.String())
	require.Len(t, crm.Secrets, 2)
	require.Equal(t, "the-new-secret", crm.Secrets[0].Value.Reveal())
	require.True(t, crm.Secrets[0].NotBefore.IsZero() && crm.Secrets[0].NotAfter.IsZero())
	require.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), crm.Secrets[1].NotBefore)
	require.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), crm.Secrets[1].NotAfter)
}
