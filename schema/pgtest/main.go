package pgtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/hooklatch/hooklatch/internal/leaks"
)

const (
	urlEnv  = "TEST_DATABASE_URL"
	keepEnv = "HOOKLATCH_PGTEST_KEEP"
)

// shared is the state that the tests of one binary share. Tests pass only their testing.TB to New,
// so this state must be global.
var shared struct {
	sync.Mutex
	hosts     [2]*host // plain and durable
	errs      [2]error
	databases map[*pgxpool.Pool]*database
	kept      []string // commands that connect to failed tests' databases
	later     []*host  // failed tests' servers, stopped at the end
}

// Main runs a binary's tests, stops the servers that they shared, and returns the exit code. If all
// tests passed, it also looks for leaked goroutines, and passes the options to goleak.
//
// With HOOKLATCH_PGTEST_KEEP=1 in the environment, the servers of failed tests run until Ctrl-C, so
// that their databases can be examined.
//
// Unless the flag -parallel is set, Main lets at least leastParallel tests run in parallel.
func Main(m *testing.M, options ...goleak.Option) int {
	flag.Parse()
	if err := raiseParallel(); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		return 1
	}
	code := m.Run()
	waitForReader()
	if err := stopShared(); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := leaks.Find(options...); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
			code = 1
		}
	}
	return code
}

// leastParallel is the number of parallel tests on a machine with few cores. Tests with a
// database spend most of their time waiting: for a timer, a process or a server.
const leastParallel = 6

// raiseParallel raises the flag -parallel to leastParallel if it was not set and its default is
// lower.
func raiseParallel() error {
	const name = "test.parallel"
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	if set || runtime.GOMAXPROCS(0) >= leastParallel {
		return nil
	}
	return flag.Set(name, strconv.Itoa(leastParallel))
}

// sharedHost returns the plain or the durable server that tests share, and starts it for the first
// test that needs it. An error is kept, so that later tests fail at once instead of waiting for the
// same error.
func sharedHost(ctx context.Context, durable bool) (*host, error) {
	shared.Lock()
	defer shared.Unlock()
	rawURL := os.Getenv(urlEnv)
	which := 0
	if durable && rawURL == "" {
		which = 1
	}
	if shared.hosts[which] == nil && shared.errs[which] == nil {
		if rawURL != "" {
			shared.hosts[which], shared.errs[which] = foreignHost(ctx, rawURL)
		} else {
			shared.hosts[which], shared.errs[which] = startHost(ctx, false, durable, sharedSettings)
		}
	}
	return shared.hosts[which], shared.errs[which]
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	hosts := slices.Concat(shared.hosts[:], shared.later)
	shared.hosts, shared.later = [2]*host{}, nil
	for _, host := range hosts {
		if host == nil {
			continue
		}
		if host.server == nil { // the server stays, and so would its databases
			if err := host.dropPrepared(context.Background()); err != nil {
				return err
			}
		}
		if err := host.close(context.Background()); err != nil {
			return err
		}
		if host.server != nil {
			if err := host.server.Stop(context.Background()); err != nil {
				return err
			}
		}
	}
	return nil
}

func remember(pool *pgxpool.Pool, db *database) {
	shared.Lock()
	defer shared.Unlock()
	if shared.databases == nil {
		shared.databases = map[*pgxpool.Pool]*database{}
	}
	shared.databases[pool] = db
}

func lookup(pool *pgxpool.Pool) *database {
	shared.Lock()
	defer shared.Unlock()
	return shared.databases[pool]
}

func forget(pool *pgxpool.Pool) {
	shared.Lock()
	defer shared.Unlock()
	delete(shared.databases, pool)
}

// keeping reports whether failed tests' databases are kept until Ctrl-C.
func keeping() bool { return os.Getenv(keepEnv) != "" }

// stopLater leaves a test's own server running until Main ends.
func stopLater(host *host) {
	shared.Lock()
	defer shared.Unlock()
	shared.later = append(shared.later, host)
}

// keep logs how to connect to a failed test's database. The caller must not remove the database.
func keep(t testing.TB, db *database) {
	t.Helper()
	line := fmt.Sprintf("psql %q", db.host.url(db.name))
	switch {
	case db.host.server == nil:
		t.Logf("pgtest: database kept: %s", line)
	case keeping():
		t.Logf("pgtest: database kept until Ctrl-C: %s", line)
		shared.Lock()
		shared.kept = append(shared.kept, line)
		shared.Unlock()
	default:
		t.Logf("pgtest: database kept until the end of this test binary (with %s=1 until Ctrl-C): %s", keepEnv, line)
	}
}

// waitForReader waits for Ctrl-C if a database was kept on request.
func waitForReader() {
	shared.Lock()
	kept := strings.Join(shared.kept, "\n")
	shared.Unlock()
	if kept == "" {
		return
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	fmt.Fprintf(os.Stderr, "pgtest: waiting for Ctrl-C; databases of failed tests:\n%s\n", kept)
	<-interrupted
}
