package admin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/admin"
)

func TestHealthzWhateverHappens(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, func(o *admin.Options) { o.Ready = func(context.Context) error { return errors.New("away") } })
	got := get(t, a, "/healthz")
	require.Equal(t, http.StatusOK, got.Code)
	require.Equal(t, "ok\n", got.Body.String())
}

func TestReadyz(t *testing.T) {
	t.Parallel()
	leaky := "connect postgres://hooklatch:" + token + "@db:5432/hooklatch: host=db password=" + token + " refused"
	tests := []struct {
		name   string
		err    error
		told   string // shown to callers with the token
		public string // shown to other callers
	}{
		{"leaky", errors.New(leaky), "connect postgres://hooklatch:<secret>@db:5432/hooklatch: host=db password=<secret> refused", "not ready"},
		{"no partitions", errors.New("1 day of partitions lies ahead, 2 are needed"), "1 day of partitions lies ahead, 2 are needed", "not ready"},
		{"read only", fmt.Errorf("commit: %w", &pgconn.PgError{Severity: "ERROR", Code: "25006", Message: "read-only", Detail: token}),
			"commit: ERROR: read-only (SQLSTATE 25006)", "the database reports SQLSTATE 25006"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t, func(o *admin.Options) {
				withToken(o)
				o.Ready = func(context.Context) error { return test.err }
			})
			public := get(t, a, "/readyz")
			require.Equal(t, http.StatusServiceUnavailable, public.Code)
			require.Equal(t, fmt.Sprintf("{\"ready\":false,\"reason\":%q}\n", test.public), public.Body.String())
			told := get(t, a, "/readyz", func(r *http.Request) { r.SetBasicAuth("", token) })
			require.Equal(t, http.StatusServiceUnavailable, told.Code)
			require.NotContains(t, told.Body.String(), token)
			require.Equal(t, fmt.Sprintf("{\"ready\":false,\"reason\":%q}\n", test.told), told.Body.String())
		})
	}
}

// A program on this machine learns whether a reload failed, even without a token. Only callers with
// the token learn why.
func TestReadyzReportsReloads(t *testing.T) {
	t.Parallel()
	a := newAdmin(t, func(o *admin.Options) {
		withToken(o)
		o.Reloads = func() admin.Reloads { return admin.Reloads{PID: 7, Tried: 2, Error: "source x: password=" + token} }
	})
	here := func(r *http.Request) { r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8081" }
	require.JSONEq(t, `{"ready":true}`, get(t, a, "/readyz").Body.String())
	require.JSONEq(t, `{"ready":true}`, get(t, a, "/readyz", here, func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") }).Body.String())
	require.JSONEq(t, `{"ready":true,"reloads":{"pid":7,"tried":2,"failed":true}}`, get(t, a, "/readyz", here).Body.String())
	require.JSONEq(t, `{"ready":true,"reloads":{"pid":7,"tried":2,"failed":true,"error":"source x: password=<secret>"}}`,
		get(t, a, "/readyz", func(r *http.Request) { r.SetBasicAuth("", token) }).Body.String())
}

func TestReadyzHasTwoSeconds(t *testing.T) {
	t.Parallel()
	for name, heedsContext := range map[string]bool{"heeds its context": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hang := make(chan struct{})
				a := newAdmin(t, func(o *admin.Options) {
					o.Ready = func(ctx context.Context) error {
						if heedsContext {
							<-ctx.Done()
							return ctx.Err()
						}
						<-hang
						return nil
					}
				})
				got := get(t, a, "/readyz")
				require.Equal(t, http.StatusServiceUnavailable, got.Code)
				require.Contains(t, got.Body.String(), "deadline exceeded")
				close(hang)
			})
		})
	}
}

// The probe is public, so concurrent requests share one call.
func TestReadyzAsksOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		asked := 0
		a := newAdmin(t, func(o *admin.Options) {
			o.Ready = func(context.Context) error {
				asked++
				<-release
				return nil
			}
		})
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { require.Equal(t, http.StatusOK, get(t, a, "/readyz").Code) })
		}
		synctest.Wait()
		close(release)
		callers.Wait()
		require.Equal(t, 1, asked)
	})
}

func TestReadinessIsNotLoggedDuringTheStart(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	failure := fmt.Errorf("%w: the database cannot be reached", admin.ErrStarting)
	a := newAdmin(t, func(o *admin.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&logs, nil))
		o.Ready = func(context.Context) error { return failure }
	})
	require.Equal(t, http.StatusServiceUnavailable, get(t, a, "/readyz").Code)
	failure = nil
	require.Equal(t, http.StatusOK, get(t, a, "/readyz").Code)
	require.Empty(t, logs.String(), "the process itself logs that it is ready")
}

func TestReadinessIsLoggedWhenItChanges(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	failure := errors.New("postgres://u:" + token + "@db is away")
	a := newAdmin(t, func(o *admin.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&logs, nil))
		o.Ready = func(context.Context) error { return failure }
	})
	for range 3 {
		get(t, a, "/readyz")
	}
	require.Equal(t, 1, strings.Count(logs.String(), "not ready"))
	failure = nil
	for range 3 {
		get(t, a, "/readyz")
	}
	require.Equal(t, 1, strings.Count(logs.String(), "ready again"))
	require.NotContains(t, logs.String(), token)
}
