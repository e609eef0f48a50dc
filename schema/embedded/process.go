//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// readyTimeout is the maximum time from the launch of a server until it accepts connections. Crash
// recovery takes the longest.
const readyTimeout = 60 * time.Second

// process is a child process. On Linux, it can get a signal when its parent is killed: see launch.
type process struct {
	pid  int
	done chan struct{} // closed when Wait has returned
	err  error         // error from Wait; read it after done is closed
	log  *tail
}

// launch starts a program as the owner. deathSignal is the signal that the child process gets if
// this process is killed; 0 for none. If held is not nil, the child process and its own children
// keep this file open.
func launch(own owner, deathSignal syscall.Signal, log io.Writer, held *os.File, program string, args ...string) (*process, error) {
	p := &process{done: make(chan struct{}), log: &tail{next: log}}
	cmd := exec.Command(program, args...)
	cmd.Env = childEnv()
	cmd.Dir = "/" // the owner may not have access to our directory
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if held != nil {
		cmd.ExtraFiles = []*os.File{held}
	}
	// The child processes of a killed server may keep the pipe open a little longer than the
	// server.
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// Ctrl-C is meant only for this process: the server must keep running while this
		// process drains.
		Setpgid: true,
	}
	setDeathSignal(cmd.SysProcAttr, deathSignal)
	if own.drop {
		//nolint:gosec // Ids in passwd have 32 bits.
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(own.uid), Gid: uint32(own.gid)}
	}

	started := make(chan error, 1)
	go func() {
		// The death signal is bound to the thread that forked, so that thread must live as
		// long as the child process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// ended reports whether the process has exited. After that, its id may belong to another process.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// run starts a program and waits until it exits. If ctx is done, run kills the program.
func run(ctx context.Context, own owner, program string, args ...string) error {
	p, err := launch(own, syscall.SIGKILL, nil, nil, program, args...)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		family.Kill(p.pid)
		<-p.done
		return ctx.Err()
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), p.err, p.log)
	}
	return nil
}

// childEnv returns our environment without variables that would change the server.
func childEnv() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" || name == "TZ" {
			continue
		}
		env = append(env, entry)
	}
	return env
}

// waitReady returns when the server accepts connections. It reads postmaster.pid, as pg_ctl does,
// because connection attempts would fill the log.
func (p *process) waitReady(ctx context.Context, dataDir string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if pid, status := readPidFile(dataDir); pid == p.pid && status == "ready" {
			return nil
		}
		select {
		case <-ticker.C:
		case <-p.done:
			return &exitError{log: p.log.String(), cause: p.err}
		case <-ctx.Done():
			return fmt.Errorf("server is not ready: %w: %s", ctx.Err(), p.log)
		}
	}
}

// exitError is returned if a server exits before it accepts connections.
type exitError struct {
	log   string
	cause error
}

func (e *exitError) Error() string {
	return fmt.Sprintf("server ended (%v): %s", e.cause, e.log)
}

func (e *exitError) Unwrap() error { return e.cause }

// portTaken reports whether a server exited because its port was taken.
func portTaken(err error) bool {
	exit, ok := errors.AsType[*exitError](err)
	return ok && strings.Contains(exit.log, "could not bind")
}

// readPidFile returns the process id and the status in the postmaster.pid of dataDir, or zero
// values if there is no such file. A crashed server leaves its file behind.
func readPidFile(dataDir string) (pid int, status string) {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return 0, ""
	}
	if len(lines) >= 8 {
		status = strings.TrimSpace(lines[7])
	}
	return pid, status
}

// tail is a writer that passes a log on and keeps the last 4 KiB.
type tail struct {
	mu   sync.Mutex
	next io.Writer
	end  []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if extra := len(t.end) - tailSize; extra > 0 {
		t.end = t.end[extra:]
	}
	if t.next != nil {
		// A log that cannot be written must not stop the server.
		_, _ = t.next.Write(b)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.end))
}
