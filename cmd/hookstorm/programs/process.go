package programs

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// who is the name of this package in the history.
const who = "programs"

// process is one process of a Program, running or exited.
type process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{} // closed when the process has exited and its log is complete
	how  string        // description of the process's exit; valid once done is closed

	ordered   atomic.Bool // hookstorm requested the end
	listening atomic.Bool // the process has answered, so it handles signals
}

// launch starts a process, which dies with hookstorm if the system supports that.
func launch(ctx context.Context, opts Options, moreEnv []string, log *log) (*process, error) {
	// The process is stopped on request, not when the context of its start is done.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), opts.Binary, opts.Args...)
	cmd.Env = slices.Concat(Environment(), opts.Env, moreEnv)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 5 * time.Second // a killed process's children may hold its log open
	// Ctrl-C must reach only hookstorm, which then stops the processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: opts.Account}
	setDeathSignal(cmd.SysProcAttr)
	p := &process{cmd: cmd, done: make(chan struct{})}

	started := make(chan error, 1)
	go func() {
		// The death signal is bound to the thread that forked. This thread must therefore live as
		// long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		note := history.Process{Name: opts.Name, Build: opts.Build, PID: p.pid, Started: true, Ordered: true}
		opts.History.Add(history.Record{Who: who, Kind: history.Note, Op: history.OpProcess, Process: &note})
		started <- nil

		_ = cmd.Wait() // the process state has the details
		p.how = cmd.ProcessState.String()
		ended := note
		ended.Started, ended.Ordered = false, p.ordered.Load()
		opts.History.Add(history.Record{Who: who, Kind: history.Note, Op: history.OpProcess, Text: p.how, Process: &ended})
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Environment returns hookstorm's environment without variables that would change the programs'
// behaviour: another database, other telemetry, failpoints.
func Environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == "DATABASE_URL" || strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "HOOKLATCH_") || strings.HasPrefix(name, "OTEL_") {
			continue
		}
		env = append(env, entry)
	}
	return env
}
