// Package fault breaks connections to a real Postgres server around COMMIT, for tests.
package fault

import (
	"context"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Mode is what happens to a COMMIT.
type Mode string

// Values of Mode.
const (
	// LoseAnswer lets the server commit, swallows its answer and cuts the
	// connection: the client cannot know.
	LoseAnswer Mode = "lose_answer"
	// LoseRequest cuts the connection instead of sending the COMMIT, which looks the same
	// to the client: the server rolls back.
	LoseRequest Mode = "lose_request"
	// Terminate lets the server commit, and replaces its answer by the message that it
	// ended the connection (57P01), as a shutdown or a pooler may.
	Terminate Mode = "terminate"
	// Hang lets the server commit and never delivers the answer; the connection
	// stays open until the client closes it or gives up waiting.
	Hang Mode = "hang"
)

// Fault breaks the COMMITs of the connections to which it was applied, while it is armed.
// The zero value is ready for use and breaks nothing.
type Fault struct {
	mu    sync.Mutex
	mode  Mode
	skip  int
	left  int
	fired chan Mode
	count int
}

// firedSize is how many firings may wait in the channel of Fired.
const firedSize = 1024

// Apply makes the connections of a pool go through the fault. Call it before the pool is
// made. Connections are not encrypted, because the fault reads them.
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

// Arm breaks the next n COMMITs in the given way, on any connections. It replaces the
// previous Arm; n = 0 disarms.
func (f *Fault) Arm(mode Mode, n int) { f.ArmAfter(0, mode, n) }

// ArmAfter is Arm that leaves the next skip COMMITs alone.
func (f *Fault) ArmAfter(skip int, mode Mode, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.skip, f.mode, f.left = skip, mode, n
}

// Fired receives the mode of each broken COMMIT: after the server has committed, except
// for LoseRequest. Up to 1024 wait for a reader, further ones are only counted.
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

// take returns what to do to a COMMIT, "" for nothing.
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

// channel makes the channel at first use; f.mu is held.
func (f *Fault) channel() chan Mode {
	if f.fired == nil {
		f.fired = make(chan Mode, firedSize)
	}
	return f.fired
}
