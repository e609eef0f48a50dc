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

// who is what the history calls this package.
const who = "programs"

// process is one start of a Program.
type process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{} // closed when it ended and its log is complete
	how  string        // it ended; read it after done

	ordered   atomic.Bool // we asked it to end
	listening atomic.Bool // it has answered, so it heeds signals
}

// launch starts a process that dies with us where the system can do that.
func launch(ctx context.Context, opts Options, moreEnv []string, log *log) (*process, error) {
	// It ends when we say so, not when the context of the start does.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), opts.Binary, opts.Args...)
	cmd.Env = slices.Concat(Environment(), opts.Env, moreEnv)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 5 * time.Second // what a killed process started may hold its log open
	// A Ctrl-C is for us: we stop the processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	setDeathSignal(cmd.SysProcAttr)
	p := &process{cmd: cmd, done: make(chan struct{})}

	started := make(chan error, 1)
	go func() {
		// The death signal is bound to the thread that forked, so that thread must
		// live as long as the child.
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

		_ = cmd.Wait() // the state says more
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

// Environment is our own without what would change what our programs do: another
// database, other telemetry, the failpoints of somebody else.
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
