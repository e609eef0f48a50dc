package sender

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// declared returns a provider as its file declares it, without the catalog's defaults.
func declared(t testing.TB, declare func(provider.Options) (*provider.Provider, error), o provider.Options) *provider.Provider {
	t.Helper()
	p, err := declare(o)
	require.NoError(t, err)
	return p
}

// signed returns a sample that is signed with a secret.
func signed(t testing.TB, p *provider.Provider, key, eventType, id string) *provider.Request {
	t.Helper()
	r := p.Sample(eventType, id, prooftest.Now())
	r.URL = prooftest.URL("")
	require.NoError(t, p.Sign(r, secret.New(key), prooftest.Now()))
	return r
}

func verify(t testing.TB, p *provider.Provider, key string, r *provider.Request) error {
	_, err := p.Verify(t.Context(), r, []secret.Value{secret.New(key)}, prooftest.Now())
	return err
}

// theEvent returns a delivery's only event.
func theEvent(t testing.TB, p *provider.Provider, r *provider.Request) provider.Event {
	t.Helper()
	events, err := p.Events(r)
	require.NoError(t, err)
	require.Len(t, events, 1)
	return events[0]
}

func requireRefusal(t testing.TB, want provider.Reason, err error) {
	t.Helper()
	refused, ok := errors.AsType[*provider.VerifyError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, refused.Reason)
}
