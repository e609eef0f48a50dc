// Package fault breaks connections to a real Postgres server around COMMIT, for tests.
package fault

import (
	"context"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Mode selects what happens to a COMMIT.
type Mode string

// Values of Mode.
const (
	// LoseAnswer lets the server commit, swallows its response and cuts the connection. The
	// client cannot know the outcome.
	LoseAnswer Mode = "lose_answer"
	// LoseRequest cuts the connection instead of sending the COMMIT, so the server rolls back.
	// The client sees the same as with LoseAnswer.
	LoseRequest Mode = "lose_request"
	// Terminate lets the server commit, and replaces the response with the error that the server
	// terminated the connection (57P01). A shutdown or a pooler may do the same.
	Terminate Mode = "terminate"
	// Hang lets the server commit and never delivers the response. The connection stays open
	// until the client closes it or gives up waiting.
	Hang Mode = "hang"
)

// Fault breaks COMMITs on the connections to which it was applied, while it is armed. The zero
// value is ready for use and breaks nothing.
type Fault struct {
	mu    sync.Mutex
	mode  Mode
	skip  int
	left  int
	fired chan Mode
	count int
}

// firedSize is the number of firings that the channel of Fired can hold.
const firedSize = 1024

// Apply makes a pool's connections go through the fault. Call it before creating the pool. The
// connections are not encrypted, because the fault reads them.
func (f *Fault) Apply(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.TLSConfig = nil
	config.ConnConfig.Fallbacks = nil
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newConn(conn, f), nil
	}
}

// NewPool returns a pool, and the fault through which the pool's connections go. The caller must
// close the pool.
func NewPool(ctx context.Context, url string) (*pgxpool.Pool, *Fault, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	f := new(Fault)
	f.Apply(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return pool, f, err
}

// Arm breaks the next n COMMITs in the given mode, on any connections. It replaces the
// previous Arm; n = 0 disarms.
func (f *Fault) Arm(mode Mode, n int) { f.ArmAfter(0, mode, n) }

// ArmAfter does the same as Arm, but leaves the next COMMITs alone first. The parameter skip is the
// number of these COMMITs.
func (f *Fault) ArmAfter(skip int, mode Mode, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.skip, f.mode, f.left = skip, mode, n
}

// Fired returns a channel that receives the mode of each broken COMMIT, after the server has
// committed. With LoseRequest, which loses the COMMIT, the mode arrives before the connection is
// cut. The channel holds up to 1024 modes; further COMMITs are only counted.
func (f *Fault) Fired() <-chan Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.channel()
}

// Count returns how many COMMITs were broken.
func (f *Fault) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// take returns the mode for a COMMIT, or "" to leave it alone.
func (f *Fault) take() Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return ""
	}
	if f.skip > 0 {
		f.skip--
		return ""
	}
	f.left--
	return f.mode
}

func (f *Fault) report(mode Mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	select {
	case f.channel() <- mode:
	default:
	}
}

// channel creates the channel at first use; f.mu is held.
func (f *Fault) channel() chan Mode {
	if f.fired == nil {
		f.fired = make(chan Mode, firedSize)
	}
	return f.fired
}
