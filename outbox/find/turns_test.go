package find_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Simultaneous searches work one at a time, and together they work for a third of the time.
func TestSearchesWorkForAThirdOfTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		take := find.NewTurns()
		const work, each = 30 * time.Millisecond, 5
		began := time.Now()
		var working atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range each {
					end, err := take(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if n := working.Add(1); n != 1 {
						t.Errorf("%d searches work", n)
					}
					time.Sleep(work) //nolint:forbidigo // it uses the fake clock
					working.Add(-1)
					end()
				}
			})
		}
		all.Wait()
		require.Equal(t, 4*each*work+(4*each-1)*find.RestFactor*work, time.Since(began), "no search waits for the last rest")
	})
}

// A search that is cancelled while it waits takes no turn.
func TestAWaitingSearchIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		take := find.NewTurns()
		end, err := take(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		end()
		end, err = take(t.Context())
		require.NoError(t, err)
		end()
	})
}

// Page searches evaluate one condition at a time. Lists without a condition do not wait for them.
func TestSearchesOfPagesEvaluateOneAtATime(t *testing.T) {
	t.Parallel()
	b, _ := filled(t)
	pages := b.Brief(b.condition)
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	match := find.Match{By: func(*inbox.Event) (bool, error) {
		entered <- struct{}{}
		<-leave
		return true, nil
	}}
	asked := find.Events{Content: b.match(match)}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := pages.Events(t.Context(), asked, find.Beginning, 1); err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	_, err := pages.Events(t.Context(), find.Events{}, find.Beginning, 10)
	require.NoError(t, err)
	require.Empty(t, entered, "a second search evaluates")
	close(leave)
	all.Wait()
}
