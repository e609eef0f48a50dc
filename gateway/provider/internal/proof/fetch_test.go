package proof

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

const keysURL = "https://keys.example.com/set.json"

// patientFetcher returns a fetcher whose timeout is long enough for a busy machine.
func patientFetcher(s *prooftest.Server, hosts ...string) *Fetcher {
	f := NewFetcher(provider.Options{Fetch: s.Transport()}, hosts...)
	f.timeout = 2 * time.Minute
	return f
}

func TestFetchIsCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := prooftest.NewAnswers(prooftest.Says("one"))
		f := NewFetcher(provider.Options{Fetch: s}, "keys.example.com")
		cached := func() (string, error) {
			document, err := f.Cached(t.Context(), Asker{}, keysURL, time.Hour)
			return string(document), err
		}
		for range 3 {
			text, err := cached()
			require.NoError(t, err)
			require.Equal(t, "one", text)
		}
		require.EqualValues(t, 1, s.Requests.Load())

		// An old document is used while a new one is fetched.
		s.Answer(prooftest.Says("two"))
		time.Sleep(2 * time.Hour) //nolint:forbidigo // synctest's clock
		text, err := cached()
		require.NoError(t, err)
		require.Equal(t, "one", text)
		synctest.Wait()
		text, err = cached()
		require.NoError(t, err)
		require.Equal(t, "two", text)
		require.EqualValues(t, 2, s.Requests.Load())

		// The old document is used for a day if no new one is available, without a fetch for each
		// use.
		s.Answer(prooftest.Status(http.StatusBadGateway))
		time.Sleep(2 * time.Hour) //nolint:forbidigo // synctest's clock
		for range 3 {
			text, err := cached()
			require.NoError(t, err)
			require.Equal(t, "two", text)
			synctest.Wait()
			require.EqualValues(t, 3, s.Requests.Load())
		}
		time.Sleep(23 * time.Hour) //nolint:forbidigo // synctest's clock
		_, err = cached()
		require.ErrorContains(t, err, "status 502")
		require.NotErrorAs(t, err, new(*provider.VerifyError), "the sender is not at fault for a network error")
		require.EqualValues(t, 4, s.Requests.Load())
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		_, err = cached()
		require.ErrorContains(t, err, "status 502")
		require.EqualValues(t, 4, s.Requests.Load(), "a failed fetch is not repeated immediately")

		s.Answer(prooftest.Says("three"))
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		document, err := f.refreshed(t.Context(), keysURL, time.Minute)
		require.NoError(t, err)
		require.Equal(t, "three", string(document))
		document, err = f.Fetch(t.Context(), keysURL)
		require.NoError(t, err)
		require.Equal(t, "three", string(document))
		require.EqualValues(t, 6, s.Requests.Load())
	})
}

func TestFetchIsSharedAndOutlivesItsCallers(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	s := prooftest.NewServer(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = w.Write([]byte("late"))
	})
	f := patientFetcher(s, "keys.example.com")
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for range 5 {
		callers.Go(func() {
			_, err := f.Cached(ctx, Asker{}, keysURL, time.Hour)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("canceled caller got %v", err)
			}
		})
	}
	<-arrived
	cancel()
	callers.Wait()
	close(release)
	require.Eventually(t, func() bool {
		document, err := f.Cached(t.Context(), Asker{}, keysURL, time.Hour)
		return err == nil && string(document) == "late"
	}, 2*time.Minute, time.Millisecond)
	require.EqualValues(t, 1, s.Requests.Load())
}

func TestFetchRefusesForeignURLs(t *testing.T) {
	t.Parallel()
	s := prooftest.NewServer(t, prooftest.Says("never"))
	f := patientFetcher(s, "keys.example.com", "*.paypal.com")
	for _, rawURL := range []string{
		"", "keys.example.com", "http://keys.example.com/", "https://example.com/", "https://keys.example.com.evil.example/", "https://evil/keys.example.com",
		"https://keys.example.com@evil.example/", "https://user:pw@keys.example.com/", "https://keys.example.com:8443/", "https://paypal.com/",
		"https://evilpaypal.com/", "https://api.paypal.com.evil.example/", "ftp://keys.example.com/", "//keys.example.com/", "https:///x", "https://[::1]/",
		"https://127.0.0.1/", "https://keys.example.com\\@evil.example/", "https://keys.example.com/%zz", "https://keys.example.com/" + strings.Repeat("a", 2048),
		"https://keys.example.com\n/", "https://keys.example.com./",
	} {
		_, err := f.Cached(t.Context(), Asker{}, rawURL, time.Hour)
		refused, ok := errors.AsType[*provider.VerifyError](err)
		require.True(t, ok, "%q: %v", rawURL, err)
		require.Equal(t, provider.ReasonForeignURL, refused.Reason, rawURL)
		_, err = f.Fetch(t.Context(), rawURL)
		require.Error(t, err)
	}
	require.Zero(t, s.Requests.Load())
	for _, rawURL := range []string{"https://KEYS.example.com/", "https://keys.example.com:443/x?y", "https://api.paypal.com/", "https://a.b.paypal.com/"} {
		_, err := f.Fetch(t.Context(), rawURL)
		require.NoError(t, err, rawURL)
	}
}

func TestFetchRefusesAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		respond http.HandlerFunc
		message string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://keys.example.com/other", http.StatusFound)
		}, "status 302"},
		"not found": {prooftest.Status(http.StatusNotFound), "status 404 from keys.example.com"},
		"too large": {prooftest.Says(strings.Repeat("x", MaxFetched+1)), "larger than 256 KiB"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("abc"))
		}, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prooftest.NewServer(t, c.respond)
			f := patientFetcher(s, "keys.example.com")
			_, err := f.Cached(t.Context(), Asker{}, keysURL, time.Hour)
			require.ErrorContains(t, err, c.message)
			require.NotErrorAs(t, err, new(*provider.VerifyError))
			require.EqualValues(t, 1, s.Requests.Load())
		})
	}
	s := prooftest.NewServer(t, prooftest.Says(strings.Repeat("x", MaxFetched)))
	document, err := patientFetcher(s, "keys.example.com").Cached(t.Context(), Asker{}, keysURL, time.Hour)
	require.NoError(t, err)
	require.Len(t, document, MaxFetched)
}

// TestFetchReachesNoPrivateAddress uses the production transport, which does not connect to this
// machine or to private addresses.
func TestFetchReachesNoPrivateAddress(t *testing.T) {
	t.Parallel()
	f := NewFetcher(provider.Options{}, "localhost", "127.0.0.1", "169.254.169.254", "[::1]", "10.0.0.1")
	for _, host := range []string{"localhost", "127.0.0.1", "169.254.169.254", "10.0.0.1"} {
		_, err := f.Fetch(t.Context(), "https://"+host+"/")
		require.ErrorContains(t, err, "egress guard refused", host)
	}
}

func TestFetchKeepsFew(t *testing.T) {
	t.Parallel()
	s := prooftest.NewServer(t, prooftest.Says("x"))
	f := patientFetcher(s, "*.example.com")
	for i := range maxKept + 10 {
		_, err := f.Cached(t.Context(), Asker{}, "https://a.example.com/"+strconv.Itoa(i), time.Hour)
		require.NoError(t, err)
	}
	require.Len(t, f.kept, maxKept)
	require.Contains(t, f.kept, "https://a.example.com/"+strconv.Itoa(maxKept+9))
	require.NotContains(t, f.kept, "https://a.example.com/0")
}

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, maxFetching), make(chan struct{})
	s := prooftest.NewServer(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	f := patientFetcher(s, "*.example.com")
	var callers sync.WaitGroup
	for i := range maxFetching {
		callers.Go(func() { _, _ = f.Fetch(t.Context(), "https://a.example.com/"+strconv.Itoa(i)) })
	}
	for range maxFetching {
		<-arrived
	}
	_, err := f.Fetch(t.Context(), "https://a.example.com/more")
	require.ErrorIs(t, err, errFetchBusy)
	close(release)
	callers.Wait()
}
