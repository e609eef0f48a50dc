// Package redisserver runs a Redis server that is killed, emptied and paused on purpose, for tests
// and hookstorm.
package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// ErrNotInstalled is returned by Start if this machine has no redis-server.
var ErrNotInstalled = errors.New("redis-server is not installed: Debian has it in a package of that name")

// patience is the maximum time that a busy machine may take to start a server or to respond.
const patience = time.Minute

// Server is a Redis server that stores nothing on disk. Its port stays the same.
type Server struct {
	address string
	dir     string
	cmd     *exec.Cmd
	log     bytes.Buffer
}

// Start starts a server on a free port of 127.0.0.1. The caller must call Stop.
func Start(ctx context.Context) (*Server, error) {
	free, err := freeport.Addresses(1)
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	dir, err := os.MkdirTemp("", "hooklatch-redis-*")
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	s := &Server{address: free[0], dir: dir}
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// URL returns the URL of the server.
func (s *Server) URL() string { return "redis://" + s.address }

// PID returns the process id of the running server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Restart starts a killed server again, without its former data.
func (s *Server) Restart(ctx context.Context) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return ErrNotInstalled
	}
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), path, "--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", s.dir)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range (retry.Pauses{First: 5 * time.Millisecond, Max: 100 * time.Millisecond}).Until(ctx) {
		if err = s.Command(ctx, "PING"); err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("start Redis: %w", err), s.Kill(), errors.New(s.log.String()))
}

// Command sends a command without arguments, such as FLUSHALL, and waits for its response.
func (s *Server) Command(ctx context.Context, name string) error {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, name+"\r\n"); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		return err
	}
	if answer[0] != '+' {
		return fmt.Errorf("%s was refused by Redis", name)
	}
	return nil
}

// Freeze suspends the process.
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw continues a frozen process.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

// Kill sends SIGKILL to the process and waits for its end. Kill may be called again.
func (s *Server) Kill() error {
	if s.cmd == nil || s.cmd.ProcessState != nil {
		return nil
	}
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // reports the signal
	return err
}

// Stop kills the server and removes its directory.
func (s *Server) Stop() error { return errors.Join(s.Kill(), os.RemoveAll(filepath.Clean(s.dir))) }
