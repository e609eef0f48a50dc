package admin_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/internal/program/admin"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

const token = "canary-token-5d2c"

var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newAdmin returns an Admin with metrics and a console. If change is not nil, it can change the
// options.
func newAdmin(t *testing.T, change func(*admin.Options)) *admin.Admin {
	t.Helper()
	opts := admin.Options{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "some_metric 1\n") }),
		Console: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "console "+r.URL.Path) }),
		Now:     func() time.Time { return testNow },
	}
	if change != nil {
		change(&opts)
	}
	a, err := admin.New(opts)
	require.NoError(t, err)
	return a
}

func get(t *testing.T, a *admin.Admin, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8081"
	for _, f := range change {
		f(r)
	}
	recorder := httptest.NewRecorder()
	a.Handler().ServeHTTP(recorder, r)
	return recorder
}

func withToken(o *admin.Options) { o.SignIn = guardAt(time.Now) }

// guardAt returns a guard that requires the token and takes the time from now.
func guardAt(now func() time.Time) *signin.Guard {
	g, err := signin.New(signin.Options{Tokens: []signin.Token{{Role: signin.Admin, Secret: secret.New(token)}}, Now: now})
	if err != nil {
		panic(err)
	}
	return g
}

func TestABareProcess(t *testing.T) {
	t.Parallel()
	a, err := admin.New(admin.Options{})
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, get(t, a, "/").Code, "this listener has no console")
	require.Equal(t, http.StatusNotFound, get(t, a, "/metrics").Code)
	require.JSONEq(t, `{"ready":true}`, get(t, a, "/readyz").Body.String())
}

func TestListenAddressNeedsToken(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{":8081", "0.0.0.0:8081", "[::]:8081", "10.0.0.1:8081", "admin.internal:8081"} {
		_, err := admin.New(admin.Options{Listen: listen})
		require.ErrorContains(t, err, "set admin.token", listen)
		opts := admin.Options{Listen: listen}
		withToken(&opts)
		_, err = admin.New(opts)
		require.NoError(t, err, listen)
	}
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0", ""} {
		_, err := admin.New(admin.Options{Listen: listen})
		require.NoError(t, err, listen)
	}
	_, err := admin.New(admin.Options{Listen: "8081"})
	require.ErrorContains(t, err, "host:port")
}

func TestStartStop(t *testing.T) {
	t.Parallel()
	listening := func(o *admin.Options) { o.Listen = "127.0.0.1:0" }
	a := newAdmin(t, listening)
	require.Nil(t, a.Addr())
	require.NoError(t, a.Start())
	require.ErrorContains(t, a.Start(), "already started")

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + a.Addr().String() + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	other := newAdmin(t, func(o *admin.Options) {
		o.Listen, o.ListenHint = a.Addr().String(), "set admin.listen, or use --admin-listen"
	})
	err = other.Start()
	require.ErrorContains(t, err, a.Addr().String()+" is in use by another program: set admin.listen, or use --admin-listen")

	require.NoError(t, a.Stop(t.Context()))
	require.NoError(t, a.Stop(t.Context()), "Stop may be called again")
	require.ErrorContains(t, a.Start(), "already stopped")
	require.NoError(t, other.Stop(t.Context()), "Stop without Start")
}

func TestStopThatCannotWait(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	a := newAdmin(t, func(o *admin.Options) {
		o.Listen = "127.0.0.1:0"
		o.Logger = slog.New(slog.DiscardHandler)
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-release })
	})
	require.NoError(t, a.Start())
	cut := make(chan error, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		_, err := client.Get("http://" + a.Addr().String() + "/metrics") //nolint:bodyclose // the request gets no response
		cut <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.Stop(ctx), context.Canceled)
	require.Error(t, <-cut)
	close(release)
}
