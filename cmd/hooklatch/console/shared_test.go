package console

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneAnswerIsForAllWhoAsk(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	asked := 0
	var fails error
	s := &shared[int]{now: func() time.Time { return now }, ask: func(context.Context) (int, error) {
		asked++
		return asked, fails
	}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			n, err := s.get(t.Context())
			if err != nil || n != 1 {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, asked)

	now = now.Add(sharedFor)
	n, err := s.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)

	now = now.Add(sharedFor)
	fails = errors.New("away")
	for range 2 {
		_, err = s.get(t.Context())
		require.Error(t, err, "an error is no answer")
	}
	require.Equal(t, 4, asked)
	now = now.Add(-time.Hour) // a clock that was set back
	fails = nil
	n, err = s.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, n)
}
