//go:build !(linux || darwin || freebsd)

package embedded

import (
	"context"
	"errors"
)

// Server is a running Postgres server. This system does not support one.
type Server struct{}

// Start always fails on this system.
func Start(context.Context, Options) (*Server, error) {
	return nil, errors.New("start postgres: not supported on this system: run a server yourself and set DATABASE_URL, or TEST_DATABASE_URL for tests")
}

// URL returns a database's connection URL.
func (*Server) URL(string) string { return "" }

// DataDir returns the cluster's directory.
func (*Server) DataDir() string { return "" }

// Major returns the major version, such as 18.
func (*Server) Major() int { return 0 }

// PID returns the process id of the postmaster.
func (*Server) PID() int { return 0 }

// Stop ends the server.
func (*Server) Stop(context.Context) error { return nil }

// Restart ends the server and starts it again.
func (*Server) Restart(context.Context) error { return nil }

// Kill ends all the server's processes.
func (*Server) Kill() {}

// Abort ends the server with an immediate shutdown.
func (*Server) Abort(context.Context) error { return nil }

// Pause freezes all the server's processes.
func (*Server) Pause() error { return nil }

// Resume reverses Pause.
func (*Server) Resume() error { return nil }

// Installation describes the Postgres programs that Start uses.
type Installation struct {
	Bin      string
	UID, GID int
}

// Installed always fails on this system.
func Installed(context.Context) (Installation, error) {
	return Installation{}, errors.New("find postgres: not supported on this system")
}

// Take does nothing on this system.
func (Installation) Take(string) error { return nil }
