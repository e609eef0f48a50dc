package load_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// taker verifies requests and stores the ids of their events.
type taker struct {
	*httptest.Server

	mu     sync.Mutex
	ids    []string
	signed []string // signature of each request
	wrong  []error
	refuse int           // number of requests to refuse with 503
	hold   chan struct{} // responses wait until it is closed; nil if they do not wait
}

func newTaker(t *testing.T) *taker {
	t.Helper()
	p, err := catalog.New(load.Provider, provider.Options{})
	require.NoError(t, err)
	taken := &taker{}
	taken.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := &provider.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body}
		if err == nil {
			_, err = p.Verify(r.Context(), request, []secret.Value{load.Secret()}, time.Now())
		}
		var event struct{ ID string }
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		taken.mu.Lock()
		if err != nil {
			taken.wrong = append(taken.wrong, err)
		}
		if len(body) != load.DefaultSize {
			taken.wrong = append(taken.wrong, fmt.Errorf("a body has %d bytes", len(body)))
		}
		taken.ids = append(taken.ids, event.ID)
		taken.signed = append(taken.signed, r.Header.Get("Stripe-Signature"))
		refused := taken.refuse > 0
		taken.refuse--
		hold := taken.hold
		taken.mu.Unlock()
		if hold != nil {
			<-hold
		}
		if refused {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"status":"accepted"}`))
	}))
	t.Cleanup(taken.Close)
	return taken
}

func (s *taker) dial(t *testing.T, o load.Options) *load.Client {
	t.Helper()
	o.Addresses = []string{strings.TrimPrefix(s.URL, "http://")}
	client, err := load.Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// came returns the ids in order of arrival. It fails the test if a request was wrong.
func (s *taker) came(t *testing.T) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.wrong)
	return s.ids
}

// different counts the distinct ids.
func (s *taker) different(t *testing.T) int {
	t.Helper()
	ids := map[string]bool{}
	for _, id := range s.came(t) {
		ids[id] = true
	}
	return len(ids)
}

func TestEveryEventIsSignedAndNew(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	run, err := s.dial(t, load.Options{Connections: 8}).Closed(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, 100, run.Events)
	require.Equal(t, 100, s.different(t))
	require.Positive(t, run.Rate())
	require.LessOrEqual(t, run.Latency(0.5), run.Latency(0.99))
}

// The time between two runs does not count.
func TestRunsAreJoined(t *testing.T) {
	t.Parallel()
	client := newTaker(t).dial(t, load.Options{Connections: 2})
	var runs []load.Run
	var length time.Duration
	for range 2 {
		run, err := client.Closed(t.Context(), 20)
		require.NoError(t, err)
		runs, length = append(runs, run), length+run.Ended.Sub(run.Began)
	}
	runs[1].Began, runs[1].Ended = runs[1].Began.Add(time.Hour), runs[1].Ended.Add(time.Hour)
	all := load.Join(runs)
	require.Equal(t, 40, all.Events)
	require.Equal(t, runs[0].Began, all.Began)
	require.InDelta(t, 40/length.Seconds(), all.Rate(), 0.01)
	require.Equal(t, max(runs[0].Latency(1), runs[1].Latency(1)), all.Latency(1))
	require.Equal(t, min(runs[0].Latency(0), runs[1].Latency(0)), all.Latency(0))
	require.Zero(t, load.Join(nil).Events)
}

func TestARefusedEventIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	s.refuse = 3
	run, err := s.dial(t, load.Options{Connections: 1}).Closed(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, 3, run.Repeated)
	require.Len(t, s.came(t), 5)
	require.Equal(t, 2, s.different(t))
}

// An event that is refused for minutes must not be refused because of its old signature.
func TestARepeatedEventIsSignedAgain(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	s.refuse = 1 << 30
	client := s.dial(t, load.Options{Connections: 1})
	ended := make(chan error, 1)
	go func() { _, _, err := client.One(t.Context()); ended <- err }()
	signatures := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(slices.Compact(slices.Clone(s.signed)))
	}
	require.Eventually(t, func() bool { return signatures() > 1 }, 2*time.Minute, time.Millisecond)
	require.Equal(t, 1, s.different(t))
	s.mu.Lock()
	s.refuse = 0
	s.mu.Unlock()
	require.NoError(t, <-ended)
}

// The error also contains the last refusal, because a time limit alone does not show what the
// server did.
func TestTheEndOfAContextNamesTheLastRefusal(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	s.refuse = 1 << 30
	client := s.dial(t, load.Options{Connections: 2})
	for name, send := range map[string]func(context.Context) error{
		"one":    func(ctx context.Context) error { _, _, err := client.One(ctx); return err },
		"each":   client.Each,
		"closed": func(ctx context.Context) error { _, err := client.Closed(ctx, 2); return err },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		late, before := errors.New("it took too long"), len(s.came(t))
		ended := make(chan error, 1)
		go func() { ended <- send(ctx) }()
		require.Eventually(t, func() bool { return len(s.came(t)) >= before+10 }, 2*time.Minute, time.Millisecond)
		cancel(late)
		err := <-ended
		require.ErrorIs(t, err, late, name)
		require.ErrorContains(t, err, "it was answered 503", name)
	}
}

func TestLatencyCountsFromWhenAnEventWasDue(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	s.hold = make(chan struct{})
	// The only connection is busy: the second event is due while the first event waits.
	go func() {
		defer close(s.hold)
		require.Eventually(t, func() bool { return s.different(t) == 1 }, 2*time.Minute, time.Millisecond)
		<-time.After(300 * time.Millisecond)
	}()
	run, err := s.dial(t, load.Options{Connections: 1}).Open(t.Context(), 3, 100)
	require.NoError(t, err)
	require.GreaterOrEqual(t, run.Latency(0.5), 250*time.Millisecond)
}

func TestSteadyEventsComeUntilTheEnd(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	client, end := s.dial(t, load.Options{Connections: 4}), make(chan struct{})
	var run load.Run
	ended := make(chan error, 1)
	go func() {
		var err error
		run, err = client.Steady(t.Context(), 100, end)
		ended <- err
	}()
	require.Eventually(t, func() bool { return s.different(t) >= 20 }, 2*time.Minute, time.Millisecond)
	close(end)
	require.NoError(t, <-ended)
	require.GreaterOrEqual(t, run.Events, 20)
	require.Len(t, run.Sent, run.Events)
	slices.SortFunc(run.Sent, func(a, b load.Sent) int { return a.Began.Compare(b.Began) })
	var ids []string
	for i, sent := range run.Sent {
		ids = append(ids, sent.ID)
		require.WithinDuration(t, run.Sent[0].Began.Add(time.Duration(i)*10*time.Millisecond), sent.Began, time.Microsecond, "an event begins when it is due")
	}
	require.ElementsMatch(t, s.came(t), ids)
}

func TestTimelyIDsGrow(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	_, err := s.dial(t, load.Options{Connections: 1, Order: load.Timely}).Closed(t.Context(), 50)
	require.NoError(t, err)
	require.IsIncreasing(t, s.came(t))
}

func TestDuplicatesAreEventsThatCameBefore(t *testing.T) {
	t.Parallel()
	s := newTaker(t)
	_, err := s.dial(t, load.Options{Connections: 1, Duplicates: 1}).Closed(t.Context(), 50)
	require.NoError(t, err)
	require.Equal(t, 1, s.different(t))
}
