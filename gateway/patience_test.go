package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatienceEndsByItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := withPatience(t.Context(), time.Second)
		defer p.end()
		began := time.Now()
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // synctest's clock; nothing waits yet
		require.NoError(t, p.Err())
		<-p.Done()
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, p.Err(), context.DeadlineExceeded)
	})
}

func TestPatienceEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithTimeout(t.Context(), time.Minute)
	short, _ := parent.Deadline()
	p := withPatience(parent, time.Hour)
	defer p.end()
	until, limited := p.Deadline()
	require.True(t, limited)
	require.Equal(t, short, until)
	derived, stop := context.WithTimeout(p, time.Hour)
	defer stop()
	cancel()
	<-derived.Done()
	require.ErrorIs(t, p.Err(), context.Canceled)
}

// A caller that waits for Done stops waiting when end is called.
func TestPatienceEndsWhenItIsNotNeeded(t *testing.T) {
	t.Parallel()
	p := withPatience(t.Context(), time.Hour)
	waits := p.Done()
	p.end()
	<-waits
	require.ErrorIs(t, p.Err(), context.Canceled)

	unused := withPatience(t.Context(), time.Hour)
	unused.end()
	unused.end()
}
