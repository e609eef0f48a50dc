//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/hooklatch/hooklatch/internal/freeport"
)

// Server is a running Postgres server. It is safe for concurrent use.
type Server struct {
	opts     Options
	own      owner
	bin      binaries
	dir      *runDir
	port     int
	password string

	mu      sync.Mutex
	proc    *process // nil if none was started, or if it was stopped
	stopped bool
}

// Start starts a server and returns once it accepts connections. If no binaries are found, its
// error lists the searched locations and what to install.
func Start(ctx context.Context, opts Options) (*Server, error) {
	server, err := start(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return server, nil
}

func start(ctx context.Context, opts Options) (_ *Server, err error) {
	own, err := serverOwner()
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir(own)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, own: own, port: opts.Port}
	if opts.DataDir == "" {
		s.dir, err = newRunDir(own, opts)
	} else {
		s.dir, err = keptRunDir(own, opts.DataDir)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.dir.release())
		}
	}()

	wanted, err := s.wantedVersion()
	if err != nil {
		return nil, err
	}
	s.bin, err = systemSearch(own, cache, opts).locate(ctx, own, wanted)
	if err != nil {
		return nil, err
	}
	if err := s.fillDataDir(ctx, cache); err != nil {
		return nil, err
	}
	password, err := os.ReadFile(filepath.Join(s.dir.data(), passwordName))
	if err != nil {
		return nil, fmt.Errorf("data directory %s was not made by this program: %w", s.dir.data(), err)
	}
	s.password = strings.TrimSpace(string(password))
	if err := s.boot(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// systemSearch returns a search of the locations in which this machine may have binaries.
func systemSearch(own owner, cache string, opts Options) search {
	s := search{choice: os.Getenv(BinariesEnv), globs: usual()}
	if dir := os.Getenv("PGBIN"); dir != "" { // set by other Postgres tools
		s.path = append(s.path, dir)
	}
	s.path = append(s.path, filepath.SplitList(os.Getenv("PATH"))...)
	if _, err := exec.LookPath("npm"); err == nil {
		s.npm = func(ctx context.Context) (string, error) { return npmBinaries(ctx, cache, own, opts.progress) }
	}
	return s
}

// wantedVersion returns the requested major version, or the version that created the data
// directory. 0 means any version.
func (s *Server) wantedVersion() (int, error) {
	asked := 0
	if s.opts.Backup != nil {
		asked = s.opts.Backup.Of.Major()
	}
	if s.opts.Version != "" {
		var err error
		if asked, err = strconv.Atoi(s.opts.Version); err != nil {
			return 0, fmt.Errorf("version %q is not a major version such as 18", s.opts.Version)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.dir.data(), "PG_VERSION"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return asked, nil // a new cluster
	case err != nil:
		return 0, err
	}
	made, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: unknown PG_VERSION %q", s.dir.data(), text)
	}
	if asked != 0 && asked != made {
		return 0, fmt.Errorf("data directory %s was made by version %d, but version %d is wanted: remove the directory or ask for version %d", s.dir.data(), made, asked, made)
	}
	return made, nil
}

// fillDataDir creates the data directory unless it exists: from a backup, with initdb, or from a
// cached cluster.
func (s *Server) fillDataDir(ctx context.Context, cache string) error {
	if _, err := os.Stat(s.dir.data()); err == nil {
		return nil
	}
	temp := s.dir.data() + ".tmp"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	var sync func(*os.File) error
	if s.opts.Durable && s.dir.keep {
		if sync = s.opts.sync; sync == nil {
			sync = (*os.File).Sync
		}
	}
	if s.opts.Backup != nil {
		if err := takeBackup(ctx, *s.opts.Backup, temp, s.own); err != nil {
			return err
		}
		return publish(temp, s.dir.data(), sync)
	}
	if s.opts.OwnIdentity {
		if err := s.own.makeDir(cache); err != nil {
			return err
		}
		if err := os.Mkdir(temp, 0o700); err != nil {
			return err
		}
		if err := s.own.take(temp); err != nil {
			return err
		}
		if err := makeCluster(ctx, cache, s.bin, s.own, temp); err != nil {
			return err
		}
		return publish(temp, s.dir.data(), sync)
	}
	source, err := freshCluster(ctx, cache, s.bin, s.own, s.opts.progress)
	if err != nil {
		return err
	}
	if s.opts.Prepare != nil {
		if source, err = s.preparedCluster(ctx, cache, source); err != nil {
			return err
		}
	}
	if err := copyTree(source, temp, s.own); err != nil {
		return fmt.Errorf("copy cluster: %w", err)
	}
	return publish(temp, s.dir.data(), sync)
}

// preparedCluster returns the cached directory of a cluster that Prepare has filled, and creates it
// if necessary.
func (s *Server) preparedCluster(ctx context.Context, cache, source string) (string, error) {
	name := "prepared-" + hash(filepath.Base(source), s.opts.PrepareKey)
	return cached(ctx, cache, name, s.own, func(dir string) error {
		other, err := start(ctx, Options{Version: strconv.Itoa(s.bin.major), Log: s.opts.Log, Progress: s.opts.Progress})
		if err != nil {
			return err
		}
		defer other.dir.release()
		err = s.opts.Prepare(ctx, other)
		other.proc.stop(ctx)
		if err != nil {
			return fmt.Errorf("prepare cluster: %w", err)
		}
		if err := os.Remove(dir); err != nil {
			return err
		}
		return copyTree(other.dir.data(), dir, s.own)
	})
}

// boot starts the server process. On the first start, if the caller has not chosen a port, boot
// tries up to five free ports, because another program may take a port before the server does.
func (s *Server) boot(ctx context.Context) error {
	deathSignal := syscall.SIGINT // fast shutdown
	if s.opts.orphan {
		deathSignal = 0
	}
	for attempt := 1; ; attempt++ {
		port := s.port
		if port == 0 {
			found, err := freeport.Find(1)
			if err != nil {
				return err
			}
			port = found[0]
		}
		held, err := holdBinaries(s.bin)
		if err != nil {
			return err
		}
		proc, err := launch(s.own, deathSignal, s.opts.Log, held, s.bin.program("postgres"), serverArgs(s.dir, port, s.opts)...)
		if held != nil {
			_ = held.Close() // the server keeps its copy
		}
		if err != nil {
			return err
		}
		err = proc.waitReady(ctx, s.dir.data())
		if err == nil {
			s.proc = proc
			if s.port == 0 { // not on a restart: the port stays, and URL may be reading it
				s.port = port
			}
			return nil
		}
		proc.stop(context.WithoutCancel(ctx))
		switch {
		case !portTaken(err):
			return err
		case s.port != 0:
			return fmt.Errorf("port %d on 127.0.0.1 is taken: end the program that has it, or choose another port", s.port)
		case attempt == 5:
			return err
		}
	}
}

// URL returns a database's connection URL, with the superuser's password.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(Superuser, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// DataDir returns the cluster's directory: the subdirectory data of Options.DataDir, of its
// substitute, or of a temporary directory.
func (s *Server) DataDir() string { return s.dir.data() }

// Major returns the major version, such as 18.
func (s *Server) Major() int { return s.bin.major }

// PID returns the process id of the postmaster, or 0 if the server is not running.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.ended() {
		return 0
	}
	return s.proc.pid
}
