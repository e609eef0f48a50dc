//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"fmt"
	"syscall"

	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// Kill sends SIGKILL to all the server's processes, as an out-of-memory killer would. Restart
// brings the server back; Stop must still be called.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.ended() {
		return
	}
	family.Kill(s.proc.pid)
	<-s.proc.done
}

// Abort stops the server with an immediate shutdown. The data is then in the same state as after a
// crash, and Restart recovers it. Stop must still be called.
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

// Pause freezes all the server's processes: connections stay open, but receive no responses.
func (s *Server) Pause() error { return family.Pause(s.PID()) }

// Resume reverses Pause.
func (s *Server) Resume() error { return family.Resume(s.PID()) }
