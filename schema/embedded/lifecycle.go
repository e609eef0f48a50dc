//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// errNotRunning is the answer of a server that was killed or stopped.
var errNotRunning = errors.New("server does not run")

// Stop ends the server with a fast shutdown, harder when that takes longer than
// 10 s or ctx is done, and removes a throw-away cluster. Further calls do
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

// Restart ends the server with a fast shutdown, unless it was killed before,
// and starts it again on the same port and data.
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

// Kill ends all processes of the server with SIGKILL, as an out-of-memory
// killer or a crash would. Restart brings it back; Stop must still be called.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return
	}
	if !s.proc.ended() {
		killAll(s.proc.pid)
		<-s.proc.done
	}
	s.proc = nil
}

// Pause freezes all processes of the server: connections stay open and nobody
// answers.
func (s *Server) Pause() error { return s.signal("pause", syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() error { return s.signal("resume", syscall.SIGCONT) }

func (s *Server) signal(what string, signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.ended() {
		return fmt.Errorf("%s postgres: %w", what, errNotRunning)
	}
	if err := signalAll(s.proc.pid, signal); err != nil {
		return fmt.Errorf("%s postgres: %w", what, err)
	}
	return nil
}

// end stops the process if there is one; s.mu is held.
func (s *Server) end(ctx context.Context) {
	if s.proc != nil {
		s.proc.stop(ctx)
		s.proc = nil
	}
}
