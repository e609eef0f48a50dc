package app

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/config"
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
  polar:
    provider: standard-webhooks
    secrets: [whsec_dGhlLW5ldy1zZWNyZXQ, {value: whsec_the-old-secret, encoding: raw}]
`), nil)
	require.NoError(t, err)
	sources, err := sourcesOf(cfg, nil)
	require.NoError(t, err)
	require.Len(t, sources, 4)

	code, crm, pay := sources[0], sources[1], sources[2]
	require.Equal(t, "code", code.Name)
	require.Equal(t, gateway.ReplayFlag, code.ReplayGuard, "the provider does not sign the id")
	require.Zero(t, code.ContentWindow)
	require.Equal(t, gateway.ReplayOff, pay.ReplayGuard, "the provider signs the id")

	require.Equal(t, gateway.ReplayRefuse, crm.ReplayGuard)
	require.Equal(t, 90*time.Second, crm.ContentWindow)
	require.EqualValues(t, 2<<20, crm.MaxBody)
	require.Equal(t, "https://hooks.example.com/crm", crm.PublicURL.String())
	require.Len(t, crm.Secrets, 2)
	require.Equal(t, "the-new-secret", crm.Secrets[0].Value.Reveal())
	require.True(t, crm.Secrets[0].NotBefore.IsZero() && crm.Secrets[0].NotAfter.IsZero())
	require.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), crm.Secrets[1].NotBefore)
	require.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), crm.Secrets[1].NotAfter)

	polar := sources[3]
	require.Equal(t, "whsec_dGhlLW5ldy1zZWNyZXQ", polar.Secrets[0].Value.Reveal())
	require.Equal(t, "whsec_"+base64.StdEncoding.EncodeToString([]byte("whsec_the-old-secret")), polar.Secrets[1].Value.Reveal())
}

// The running gateway, and not only the check command, uses the settings event_id and dedup of a
// source.
func TestKeysAreAsConfigured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ key, one, two string }{
		"ignored fields": {`dedup: {ignore: [/attempt]}`, `{"id":1,"attempt":1}`, `{"id":1,"attempt":2}`},
		"fields":         {`event_id: {fields: [/order, /state]}`, `{"order":1,"state":"paid","sent":1}`, `{"order":1,"state":"paid","sent":2}`},
		"pointer":        {`event_id: {pointer: /order}`, `{"order":1,"sent":1}`, `{"order":1,"sent":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("sources.yaml", []byte("sources:\n  shop: {provider: github, secrets: [the-first-secret], "+c.key+"}\n"), nil)
			require.NoError(t, err)
			sources, err := sourcesOf(cfg, nil)
			require.NoError(t, err)
			var ids []string
			for i, body := range []string{c.one, c.two} {
				events, err := sources[0].Provider.Events(&provider.Request{Method: http.MethodPost, Body: []byte(body), Header: http.Header{
					"X-Github-Event": {"push"}, "X-Github-Delivery": {strconv.Itoa(i)}, "Content-Type": {"application/json"},
				}})
				require.NoError(t, err)
				require.Len(t, events, 1)
				ids = append(ids, events[0].ID)
			}
			require.Equal(t, ids[0], ids[1])
		})
	}
}
