//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
)

// errNotRunning is returned by Restart after Stop.
var errNotRunning = errors.New("the server is not running")

// Stop shuts the server down and removes a throw-away cluster. It allows 10 s for a fast shutdown,
// then 5 s for an immediate shutdown, and then sends SIGKILL. Once ctx is done, it does not wait
// between these steps. Further calls do nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.end(ctx)
	if err := s.dir.release(); err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	return nil
}

// Restart stops the server process as Stop does, unless it has already died, and starts it again
// with the same port and data.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return fmt.Errorf("restart postgres: %w", errNotRunning)
	}
	s.end(ctx)
	if err := s.boot(ctx); err != nil {
		return fmt.Errorf("restart postgres: %w", err)
	}
	return nil
}

// end stops the server process, if there is one. The caller must hold s.mu.
func (s *Server) end(ctx context.Context) {
	if s.proc != nil {
		s.proc.stop(ctx)
		s.proc = nil
	}
}
