//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
)

// errNotRunning is returned by Restart after Stop.
var errNotRunning = errors.New("the server is not running")

// Stop ends the server with a fast shutdown. If that takes longer than 10 s, or ctx is done, Stop
// uses an immediate shutdown and then SIGKILL. It removes a throw-away cluster. Further calls do
// nothing.
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

// Restart ends the server with a fast shutdown, unless it was killed before, and starts it
// again with the same port and data.
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
