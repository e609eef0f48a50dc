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

// URL returns an empty string on this system.
func (*Server) URL(string) string { return "" }

// DataDir returns an empty string on this system.
func (*Server) DataDir() string { return "" }

// Major returns 0 on this system.
func (*Server) Major() int { return 0 }

// PID returns 0 on this system.
func (*Server) PID() int { return 0 }

// Stop does nothing on this system.
func (*Server) Stop(context.Context) error { return nil }

// Restart does nothing on this system.
func (*Server) Restart(context.Context) error { return nil }

// Kill does nothing on this system.
func (*Server) Kill() {}

// Abort does nothing on this system.
func (*Server) Abort(context.Context) error { return nil }

// Pause does nothing on this system.
func (*Server) Pause() error { return nil }

// Resume does nothing on this system.
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
