package leaks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Find waits longer for a goroutine to end than goleak alone, which gives up after 0.4 seconds.
func TestGoroutinesMayEndLate(t *testing.T) { //nolint:paralleltest // it looks at all goroutines of the process
	others := []goleak.Option{goleak.IgnoreCurrent()}
	end := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-end
	}()
	require.ErrorContains(t, find(0, others), "found unexpected goroutines")
	time.AfterFunc(time.Second, func() { close(end) })
	require.NoError(t, find(patience, others))
	<-ended
}
