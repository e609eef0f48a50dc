package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// killTimeout bounds the wait for a process after SIGKILL, which only the kernel can delay.
const killTimeout = 20 * time.Second

// Kill sends SIGKILL to the process, even to a paused one, and returns when the process has exited.
// Without a process, Kill does nothing.
func (p *Program) Kill() error {
	process := p.current()
	if process == nil || process.ended() {
		return nil
	}
	process.ordered.Store(true)
	if err := process.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", p.opts.Name, err)
	}
	timer := time.NewTimer(killTimeout)
	defer timer.Stop()
	select {
	case <-process.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("kill %s: process %d is still there after %s", p.opts.Name, process.pid, killTimeout)
	}
}

// Stop asks the process to exit (SIGTERM), and returns when the process has exited. If the process
// outlasts StopTimeout or ctx, Stop kills it and returns an error. Stop may be called again.
// Without a process, Stop does nothing.
func (p *Program) Stop(ctx context.Context) error {
	process := p.current()
	if process == nil || process.ended() {
		return nil
	}
	process.ordered.Store(true)
	// A paused process could not handle SIGTERM.
	if err := errors.Join(process.signal(syscall.SIGTERM), process.signal(syscall.SIGCONT)); err != nil {
		return fmt.Errorf("stop %s: %w", p.opts.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.StopTimeout)
	defer cancel()
	select {
	case <-process.done:
		return nil
	case <-ctx.Done():
	}
	lines := p.log.end()
	return errors.Join(fmt.Errorf("stop %s: it did not end by itself: %w\n%s", p.opts.Name, context.Cause(ctx), lines), p.Kill())
}

// Pause suspends the process (SIGSTOP) until Continue.
func (p *Program) Pause() error { return p.send("pause", syscall.SIGSTOP) }

// Continue resumes a paused process.
func (p *Program) Continue() error { return p.send("continue", syscall.SIGCONT) }

// Reload makes the process read its configuration again (SIGHUP). It returns an error before the
// process listens, because until then SIGHUP would kill the process.
func (p *Program) Reload(ctx context.Context) error {
	process := p.current()
	if process != nil && p.opts.ReadyURL != "" && !process.listening.Load() && p.ask(ctx, process) == 0 {
		return fmt.Errorf("reload %s: it does not listen yet", p.opts.Name)
	}
	return p.send("reload", syscall.SIGHUP)
}

// send signals the running process. It returns an error if no process is running.
func (p *Program) send(what string, signal syscall.Signal) error {
	process := p.current()
	if process == nil || process.ended() {
		return fmt.Errorf("%s %s: no process is running", what, p.opts.Name)
	}
	if err := process.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s %s: %w", what, p.opts.Name, err)
	}
	return nil
}

// signal signals a process. It ignores a process that has already exited.
func (p *process) signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
