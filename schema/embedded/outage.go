//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"fmt"
	"syscall"

	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// Kill ends all processes of the server with SIGKILL, as an out-of-memory killer or a
// crash would. Restart brings it back; Stop must still be called.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.ended() {
		return
	}
	family.Kill(s.proc.pid)
	<-s.proc.done
}

// Abort ends the server with an immediate shutdown: its data is as after a crash, and
// Restart recovers it. Stop must still be called.
func (s *Server) Abort(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.ended() {
		return nil
	}
	_ = family.Resume(s.proc.pid) // a paused process would not receive the signal
	if err := syscall.Kill(s.proc.pid, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("abort postgres: %w", err)
	}
	select {
	case <-s.proc.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("abort postgres: %w", ctx.Err())
	}
}

// Pause freezes all processes of the server: connections stay open and none answers.
func (s *Server) Pause() error { return family.Pause(s.PID()) }

// Resume ends a Pause.
func (s *Server) Resume() error { return family.Resume(s.PID()) }
