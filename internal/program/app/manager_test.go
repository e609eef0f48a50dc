package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A service manager that reads nothing delays neither the start nor a reload nor a stop. When it
// reads again, it gets the latest states, in order.
func TestAServiceManagerThatReadsNothingDelaysNothing(t *testing.T) {
	t.Parallel()
	f := newFile(t, pgtest.URL(t, pgtest.New(t)))
	f.write(t, first)
	cfg, err := f.load()
	require.NoError(t, err)
	reading, read, reloaded := make(chan struct{}), make(chan string, 100), make(chan struct{}, 1)
	reloads, stop := make(chan struct{}, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		stop <- app.Run(ctx, app.Options{
			Config: cfg, Gateway: true, Worker: true, StillFor: often,
			Load: func() (*config.Config, error) {
				defer func() { reloaded <- struct{}{} }()
				return f.load()
			},
			Tell: func(state string) {
				<-reading
				read <- state
			},
		}, reloads, nil)
	}()
	receive := func(from <-chan struct{}, what string) {
		select {
		case <-from:
		case <-time.After(patience):
			require.Fail(t, what)
		}
	}
	reloads <- struct{}{}
	receive(reloaded, "no reload")
	cancel()
	select {
	case err := <-stop:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "not stopped")
	}
	close(reading)
	var states []string
	for !slices.Contains(states, "STOPPING=1\nSTATUS=finishes its work") {
		select {
		case state := <-read:
			states = append(states, state)
		case <-time.After(patience):
			require.Fail(t, "no more states", states)
		}
	}
	require.Equal(t, "READY=1\nSTATUS=waits for the database", states[0])
	require.Contains(t, strings.Join(states, "\n"), "RELOADING=1")
}
