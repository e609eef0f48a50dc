package recent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// database answers queries for its name.
type database struct {
	name  string
	err   error
	slow  time.Duration
	asked int
}

func (d *database) ask(ctx context.Context) (string, error) {
	d.asked++
	select {
	case <-time.After(d.slow):
		return d.name, d.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func ref(id string) identity.EventRef {
	return identity.EventRef{Source: "stripe", EventID: identity.EventID(id)}
}

// known returns a Cache that knows its database's name and contains an event.
func known(t *testing.T, d *database) (*Cache, Event) {
	t.Helper()
	c := New(d.ask, func(error) {})
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	e := Event{AcceptanceID: uuid.New(), ReceivedAt: time.Now(), Hash: [32]byte{1}}
	c.Keep(c.Life(), ref("a"), e)
	_, found := c.Find(ref("a"))
	require.False(t, found, "the database has not identified itself yet")
	synctest.Wait()
	_, found = c.Find(ref("a"))
	require.False(t, found, "the event may have been committed in another database")
	c.Keep(c.Life(), ref("a"), e)
	return c, e
}

func TestCommittedEventsAreKnownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{name: "one"}
		c, e := known(t, d)
		got, found := c.Find(ref("a"))
		require.True(t, found)
		require.Equal(t, e, got)
		_, found = c.Find(identity.EventRef{Source: "github", EventID: "a"})
		require.False(t, found, "keys are scoped to their source")
	})
}

func TestTheDatabaseIsAskedOnceASecondWhileThereAreHits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{name: "one"}
		c, e := known(t, d)
		require.Equal(t, 1, d.asked)
		hits := 0
		for range 100 { // 10 seconds
			c.Keep(c.Life(), ref("a"), e)
			for range 10 {
				if _, found := c.Find(ref("a")); found {
					hits++
				}
			}
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest's clock
			synctest.Wait()
		}
		require.InDelta(t, 10, d.asked, 1)
		require.Greater(t, hits, 800)

		before := d.asked
		for range 100 {
			_, found := c.Find(ref("unknown"))
			require.False(t, found)
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest's clock
		}
		require.Equal(t, before, d.asked, "the database is queried only after a hit")
	})
}

func TestAnotherLifeOfTheDatabaseVoidsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{name: "one"}
		c, e := known(t, d)
		late := c.Life() // for a transaction that learns of its COMMIT only after the change
		d.name = "two"
		time.Sleep(vouched + time.Millisecond) //nolint:forbidigo // synctest's clock
		_, found := c.Find(ref("a"))
		require.False(t, found, "the database's response is too old")
		synctest.Wait()
		_, found = c.Find(ref("a"))
		require.False(t, found)

		c.Keep(late, ref("a"), e)
		_, found = c.Find(ref("a"))
		require.False(t, found, "the event was committed in the previous life")
		c.Keep(c.Life(), ref("a"), e)
		_, found = c.Find(ref("a"))
		require.True(t, found)
	})
}

func TestWithoutAnAnswerNothingIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{name: "one"}
		c, e := known(t, d)
		d.err = errors.New("recovery is in progress")
		time.Sleep(vouched + time.Millisecond) //nolint:forbidigo // synctest's clock
		for range 30 {
			c.Keep(c.Life(), ref("a"), e)
			_, found := c.Find(ref("a"))
			require.False(t, found)
			synctest.Wait()
			_, found = c.Find(ref("a"))
			require.False(t, found)
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest's clock
		}
		require.LessOrEqual(t, d.asked, 5, "the database is not queried more often")
		d.err = nil
		time.Sleep(vouched + time.Millisecond) //nolint:forbidigo // synctest's clock
		c.Find(ref("a"))
		synctest.Wait()
		_, found := c.Find(ref("a"))
		require.True(t, found, "the same database responds again")
	})
}

// A name is valid for a second from its query, not from the response.
func TestASlowAnswerIsWorthLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{name: "one"}
		c, _ := known(t, d)
		d.slow = 900 * time.Millisecond
		time.Sleep(vouched + time.Millisecond) //nolint:forbidigo // synctest's clock
		c.Find(ref("a"))
		time.Sleep(950 * time.Millisecond) //nolint:forbidigo // synctest's clock
		_, found := c.Find(ref("a"))
		require.True(t, found)
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest's clock
		_, found = c.Find(ref("a"))
		require.False(t, found)
	})
}

func TestEventsAreForgottenAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{name: "one"}
		c, _ := known(t, d)
		for range 59 {
			c.Find(ref("a"))
			synctest.Wait()
			_, found := c.Find(ref("a"))
			require.True(t, found)
			time.Sleep(time.Second + time.Millisecond) //nolint:forbidigo // synctest's clock
		}
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		asked := d.asked
		c.Find(ref("a"))
		synctest.Wait()
		_, found := c.Find(ref("a"))
		require.False(t, found, "hits do not extend the time")
		require.Equal(t, asked, d.asked)
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	d := &database{name: "one"}
	c := New(d.ask, func(error) {})
	long := strings.Repeat("x", 240)
	for i := range 200_000 {
		c.Keep(0, ref(fmt.Sprint(long, i)), Event{})
	}
	c.events.CleanUp()
	require.LessOrEqual(t, c.events.WeightedSize(), uint64(maxWeight))
	require.Less(t, c.events.EstimatedSize(), 40_000)

	// Ids are parts of bodies. The cache must not keep those bodies in memory.
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 4000 {
		body := fmt.Sprintf("%d%s", i, strings.Repeat("x", 64<<10)) // 256 MiB in all
		c.Keep(0, ref(body[:8]), Event{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(64<<20))
	runtime.KeepAlive(c)
}
