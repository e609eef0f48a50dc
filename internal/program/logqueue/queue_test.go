package logqueue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// stream is an io.Writer that may fail, and whose reader may stop.
type stream struct {
	stuck   chan struct{} // writes wait until this channel is closed; nil if the reader reads
	text    strings.Builder
	largest int
	failure error
}

func (s *stream) Write(p []byte) (int, error) {
	if s.stuck != nil {
		<-s.stuck
	}
	if s.failure != nil {
		return 0, s.failure
	}
	s.largest = max(s.largest, len(p))
	return s.text.Write(p)
}

// queued runs a test with a queue of n bytes, and closes the queue at the end.
func queued(t *testing.T, n int, test func(t *testing.T, out *stream, q *logqueue.Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out := &stream{}
		q := logqueue.New(logqueue.Options{Out: out, Name: "stderr", Size: n})
		q.Start(func(lines int64) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) })
		test(t, out, q)
		q.Close(t.Context())
		synctest.Wait()
	})
}

func line(q *logqueue.Queue, n int) { fmt.Fprintf(q, "line %03d\n", n) }

func TestLinesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	queued(t, 1<<20, func(t *testing.T, out *stream, q *logqueue.Queue) {
		var want strings.Builder
		for n := range 2000 {
			line(q, n)
			fmt.Fprintf(&want, "line %03d\n", n)
		}
		q.Close(t.Context())
		require.Equal(t, want.String(), out.text.String())
		require.LessOrEqual(t, out.largest, 4096, "a pipe keeps each write in one piece")
		require.Zero(t, q.Dropped())
		require.Zero(t, q.Waiting())
	})
}

func TestBeforeStartAWriteIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	out := &stream{}
	q := logqueue.New(logqueue.Options{Out: out, Name: "stderr"})
	line(q, 1)
	require.Equal(t, "line 001\n", out.text.String())
	out.failure = errors.New("gone")
	_, err := q.Write([]byte("x\n"))
	require.ErrorIs(t, err, out.failure)
	q.Close(t.Context())
}

// If a reader stops reading, the queue drops lines. The log contains the number of dropped lines,
// at the position where they are missing.
func TestAFullQueueDropsCountsAndSaysSo(t *testing.T) {
	t.Parallel()
	const room = 9 * 10 // ten lines
	queued(t, room, func(t *testing.T, out *stream, q *logqueue.Queue) {
		out.stuck = make(chan struct{})
		for n := range 15 {
			line(q, n)
		}
		synctest.Wait()
		require.EqualValues(t, 5, q.Dropped())
		require.EqualValues(t, room, q.Waiting())
		require.ErrorContains(t, q.Trouble(), "too slow")
		time.Sleep(7 * time.Second) //nolint:forbidigo // synctest's clock
		require.ErrorContains(t, q.Trouble(), "the log on stderr: its reader has read nothing for 7s; lines dropped so far: 5")
		close(out.stuck)
		synctest.Wait()
		require.NoError(t, q.Trouble())
		line(q, 99)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.text.String()), "\n")
		require.Equal(t, []string{"line 009", "dropped 5", "line 099"}, lines[9:])
		require.EqualValues(t, 5, q.Dropped())
	})
}

// After a failed write, the queue tries the stream again with every line.
func TestAFailingStreamIsTriedAgain(t *testing.T) {
	t.Parallel()
	queued(t, 1<<20, func(t *testing.T, out *stream, q *logqueue.Queue) {
		line(q, 0)
		synctest.Wait()
		out.failure = errors.New("broken pipe")
		for n := range 3 {
			line(q, n+1)
			synctest.Wait()
		}
		require.EqualValues(t, 3, q.Dropped())
		require.Zero(t, q.Waiting())
		require.EqualError(t, q.Trouble(), "the log on stderr: broken pipe; lines dropped so far: 3")
		out.failure = nil
		line(q, 4)
		synctest.Wait()
		require.Equal(t, "line 000\ndropped 3\nline 004\n", out.text.String())
		require.NoError(t, q.Trouble())
	})
}

func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	queued(t, 1<<20, func(t *testing.T, out *stream, q *logqueue.Queue) {
		out.stuck = make(chan struct{})
		defer close(out.stuck)
		line(q, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		q.Close(ctx)
		require.Equal(t, time.Second, time.Since(began))
		line(q, 2)
		require.EqualValues(t, 1, q.Dropped(), "after Close lines are dropped")
	})
}

// A queue allocates nothing per line once its buffers exist.
func TestALineAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	q := logqueue.New(logqueue.Options{Out: &stream{}, Name: "stderr"})
	q.Start(nil)
	text := []byte("line\n")
	_, _ = q.Write([]byte(strings.Repeat("x", 1<<16) + "\n"))
	require.Less(t, testing.AllocsPerRun(1000, func() { _, _ = q.Write(text) }), 1.0)
	q.Close(t.Context())
}
