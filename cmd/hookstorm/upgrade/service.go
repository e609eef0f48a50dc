package upgrade

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Roles of services.
const (
	roleGateway = "gateway"
	roleWorker  = "worker"
	roleServe   = "serve" // a process of the current version; it migrates the database when it starts
)

const (
	// readyTimeout bounds the start of a process on a busy machine.
	readyTimeout = 2 * time.Minute
	// leaderTimeout bounds the wait for a leader of River.
	leaderTimeout = time.Minute
)

// service is a process that runs one version after the other, at the same addresses and with the
// same configuration file.
type service struct {
	role              string
	place             *stage.Place
	previous, current *programs.Program
	running           *programs.Program
}

//go:embed hooklatch.yaml.tmpl
var configurationText string

// newService writes the configuration of a service. Both versions must accept the file, unless the
// role is roleServe: only the current version reads such a file.
func (r *run) newService(name, role, receiverURL string) (*service, error) {
	place, err := r.stage.Place(name)
	if err != nil {
		return nil, err
	}
	err = place.Write(configurationText, struct {
		Database, Secret                     secret.Value
		Gateway, Admin, Source, Provider, To string
		Migrates                             bool
	}{secret.New(r.url), load.Secret(), place.Gateway, place.Admin, load.Source, load.Provider, receiverURL, role == roleServe})
	if err != nil {
		return nil, err
	}
	s := &service{role: role, place: place}
	program := func(binary, version string) (*programs.Program, error) {
		return place.Program(programs.Options{
			Binary: binary, Build: version, Args: []string{role, "--config", place.Config}, ReadyURL: place.Ready(),
			Log: filepath.Join(r.stage.Dir, name+"."+version+logSuffix),
		})
	}
	if s.previous, err = program(r.opts.Binaries.Previous, "previous"); err != nil {
		return nil, err
	}
	s.current, err = program(r.opts.Binaries.Current, "current")
	return s, err
}

// start starts a version and waits until it can do its work.
func (s *service) start(ctx context.Context, version *programs.Program) error {
	s.running = version
	if err := version.Start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return version.Ready(ctx)
}

// replace stops the running version and starts another.
func (s *service) replace(ctx context.Context, version *programs.Program) error {
	if err := s.running.Stop(ctx); err != nil {
		return err
	}
	return s.start(ctx, version)
}

// leaderLast returns the services in the order of their replacement. The worker that leads River
// comes last, so that it leads workers of the other version for as long as possible.
func (r *run) leaderLast(ctx context.Context) ([]*service, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	for range (retry.Pauses{First: 50 * time.Millisecond, Max: time.Second}).Until(ctx) {
		var id string // contains the process id
		if err := r.pool.QueryRow(ctx, `SELECT leader_id FROM hooklatch.river_leader WHERE expires_at > now()`).Scan(&id); err != nil {
			continue
		}
		numbers := strings.FieldsFunc(id, func(r rune) bool { return r < '0' || r > '9' })
		for i, s := range r.fleet {
			for _, number := range numbers {
				if number == strconv.Itoa(s.running.PID()) {
					others := append(append([]*service{}, r.fleet[:i]...), r.fleet[i+1:]...)
					return append(others, s), nil
				}
			}
		}
	}
	return nil, fmt.Errorf("no worker leads River: %w", context.Cause(ctx))
}

// command runs a command of a version with the configuration of the first service.
func (r *run) command(ctx context.Context, binary string, args ...string) error {
	cmd := exec.CommandContext(ctx, binary, append(args, "--config", r.fleet[0].place.Config)...)
	cmd.Env = programs.Environment()
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(binary), strings.Join(args, " "), err, printed)
	}
	return nil
}

// receiver counts the calls of each effect.
type receiver struct {
	mu    sync.Mutex
	calls map[string]int // by idempotency key
}

// ServeHTTP counts a completely received call by its idempotency key.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	if _, err := io.Copy(io.Discard, request.Body); err != nil && !errors.Is(err, http.ErrBodyReadAfterClose) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[request.Header.Get("Idempotency-Key")]++
}

// counts returns the number of effects with a call, and the number of repeated calls.
func (r *receiver) counts() (called, again int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.calls {
		again += n - 1
	}
	return len(r.calls), again
}
