package app

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

const former = `database: {url: "postgres://nowhere/none"}
sources:
  stripe: {provider: stripe, secrets: [the-first-secret]}
  github: {provider: github, secrets: [the-first-secret]}
destinations:
  app: {http: {url: "http://localhost:1/"}}
routes:
  - {name: paid, from: stripe, types: [invoice.paid], to: app}
  - {name: pushed, from: github, to: app}
`

const whole = `# a file in several steps
database:
  url: "postgres://nowhere/none"

sources:
  stripe:
    provider: stripe
    secrets: [the-first-secret]
  github:
    provider: github
    secrets: [the-first-secret]

destinations:
  app:
    http:
      url: "http://localhost:1/"

routes:
  - name: paid
    from: stripe
    types:
      - invoice.paid
      - invoice.voided
    to: app
  - name: pushed
    from: github
    to: app
`

// reloading is an App that follows reload requests in a synctest bubble. It does not listen or
// connect.
type reloading struct {
	*App

	path     string
	requests chan struct{}
	logs     lockedBuffer

	mu   sync.Mutex
	read []string // texts that the reloads read
}

func newReloading(t *testing.T) *reloading {
	t.Helper()
	r := &reloading{path: filepath.Join(t.TempDir(), "hooklatch.yaml")}
	r.write(t, former)
	load := func() (*config.Config, error) {
		text, err := os.ReadFile(r.path)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.read = append(r.read, string(text))
		return config.Load(r.path, func(string) (string, bool) { return "", false })
	}
	cfg, err := load()
	require.NoError(t, err)
	r.App, err = New(t.Context(), Options{
		Config: cfg, Gateway: true, Worker: true, Load: load, StillFor: DefaultStillFor,
		Logger: slog.New(slog.NewTextHandler(&r.logs, nil)),
	})
	require.NoError(t, err)
	r.read = nil
	return r
}

// loads returns the texts that reloads read.
func (r *reloading) loads() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.read)
}

func (r *reloading) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(r.path, []byte(text), 0o600))
}

// after lets time pass in the bubble.
func after(d time.Duration) {
	<-time.After(d) // waits in the bubble's time
	synctest.Wait()
}

// inBubble runs f in a synctest bubble, in which a new App follows reload requests.
func inBubble(t *testing.T, f func(t *testing.T, r *reloading)) {
	t.Helper()
	r := newReloading(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.requests = make(chan struct{})
		go r.followReloads(ctx, r.requests)
		f(t, r)
		cancel()
		synctest.Wait()
	})
	require.NoError(t, r.Stop(context.Background()))
}

// routesInEffect returns the current routes with their type patterns.
func (r *reloading) routesInEffect() string {
	var routes []string
	for _, one := range r.config.Load().Routes {
		routes = append(routes, one.Name+" "+strings.Join(one.Types, ","))
	}
	return strings.Join(routes, "; ")
}

const (
	formerRoutes = "paid invoice.paid; pushed "
	wholeRoutes  = "paid invoice.paid,invoice.voided; pushed "
)

// A reload is requested while only the first n lines of the file are written, for every n. If the
// rest follows soon, the reload waits for it and reads only the complete file. If the file does not
// change for a while, the reload reads the incomplete file: it refuses the file, or logs which
// settings are missing. When the rest is written, the reload reads the file again.
func TestReloadOfAFileCutAtEveryLine(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(whole, "\n")
	for n := range lines {
		cut := strings.Join(lines[:n], "")
		inBubble(t, func(t *testing.T, r *reloading) {
			r.write(t, cut)
			r.requests <- struct{}{}
			after(DefaultStillFor / 2)
			r.write(t, whole)
			after(DefaultStillFor * 9 / 10)
			require.Empty(t, r.loads(), "the file is still changing")
			after(DefaultStillFor)
			require.Equal(t, []string{whole}, r.loads(), "cut before line %d", n+1)
			require.Equal(t, wholeRoutes, r.routesInEffect())
		})
		inBubble(t, func(t *testing.T, r *reloading) {
			r.write(t, cut)
			r.requests <- struct{}{}
			after(3 * DefaultStillFor)
			require.Equal(t, []string{cut}, r.loads())
			refused := strings.Contains(r.logs.String(), "the current configuration stays in effect")
			said := strings.Contains(r.logs.String(), "the reloaded configuration lacks parts of the previous one")
			switch in := r.routesInEffect(); in {
			case formerRoutes:
				require.True(t, refused || cut == "", "cut before line %d: %s", n+1, r.logs.String())
			case wholeRoutes:
			default:
				require.True(t, said, "cut before line %d is in effect: %s", n+1, in)
			}
			require.NotEmpty(t, r.config.Load().Sources)
			require.NotEmpty(t, r.config.Load().Routes)
			r.write(t, whole)
			after(3 * DefaultStillFor)
			require.Equal(t, wholeRoutes, r.routesInEffect(), "cut before line %d", n+1)
		})
	}
}

// After a reload, the file is watched only for a while. A later change is read only after another
// reload request.
func TestAFileIsReadOnlyWhenAReloadAskedForIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *reloading) {
		r.write(t, whole)
		after(time.Hour)
		require.Empty(t, r.loads())
		r.requests <- struct{}{}
		after(2 * DefaultStillFor)
		require.Len(t, r.loads(), 1)
		after(2 * followFor * DefaultStillFor)
		r.write(t, former)
		after(time.Hour)
		require.Len(t, r.loads(), 1)
	})
}

// The process logs that a file keeps changing, and reads the file when it stops changing.
func TestAFileThatKeepsChangingIsReadInTheEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r *reloading) {
		r.requests <- struct{}{}
		for range 4 * stillWithin {
			r.write(t, whole)
			after(DefaultStillFor / 4)
			r.write(t, former)
			after(DefaultStillFor / 4)
		}
		require.Empty(t, r.loads())
		require.Equal(t, 1, strings.Count(r.logs.String(), "the configuration is still being written"))
		r.write(t, whole)
		after(2 * DefaultStillFor)
		require.Equal(t, wholeRoutes, r.routesInEffect())
	})
}

// lockedBuffer supports concurrent writes and reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
