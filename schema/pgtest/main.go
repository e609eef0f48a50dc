package pgtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
)

const (
	urlEnv  = "TEST_DATABASE_URL"
	keepEnv = "HOOKLATCH_PGTEST_KEEP"
)

// shared is what the tests of one binary have in common. Tests reach New
// through nothing but their testing.TB, so it is the one place that is global.
var shared struct {
	sync.Mutex
	hosts     [2]*host // plain and durable
	errs      [2]error
	databases map[*pgxpool.Pool]*database
	kept      []string // connection URLs of failed tests
}

// Main runs the tests of a binary, stops the servers they shared, and returns
// the exit code. When all tests passed it also looks for goroutines they left;
// options are those of goleak.
//
// With HOOKLATCH_PGTEST_KEEP=1 in the environment the server outlives failed
// tests until Ctrl-C, to look at their databases.
func Main(m *testing.M, options ...goleak.Option) int {
	code := m.Run()
	waitForReader()
	if err := stopShared(); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(options...); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
			code = 1
		}
	}
	return code
}

// sharedHost returns the server all tests use, after starting it for the first
// one. An error stays: the next test would wait for the same.
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
			shared.hosts[which], shared.errs[which] = startHost(ctx, durable, nil)
		}
	}
	return shared.hosts[which], shared.errs[which]
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	for i, host := range shared.hosts {
		shared.hosts[i] = nil
		if host == nil || host.server == nil {
			continue
		}
		if err := host.server.Stop(context.Background()); err != nil {
			return err
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

// keep leaves the database of a failed test and says how to look at it.
func keep(t testing.TB, db *database) {
	t.Helper()
	line := fmt.Sprintf("psql %q", db.host.url(db.name))
	if db.host.server == nil {
		t.Logf("pgtest: database kept: %s", line)
		return
	}
	shared.Lock()
	shared.kept = append(shared.kept, line)
	shared.Unlock()
	t.Logf("pgtest: database kept as long as the server runs (%s=1 leaves it running): %s", keepEnv, line)
}

// waitForReader leaves the servers running until Ctrl-C or Return if somebody
// asked for that and there is something to see.
func waitForReader() {
	shared.Lock()
	kept := strings.Join(shared.kept, "\n")
	shared.Unlock()
	if kept == "" || os.Getenv(keepEnv) == "" {
		return
	}
	fmt.Fprintf(os.Stderr, "pgtest: waiting for Ctrl-C; databases of failed tests:\n%s\n", kept)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	entered := make(chan struct{})
	go func() {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
			close(entered)
		}
	}()
	select {
	case <-interrupted:
	case <-entered:
	}
}
