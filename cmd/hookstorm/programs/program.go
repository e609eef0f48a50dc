package programs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Options configure a Program.
type Options struct {
	// Name is the program's name in the history and in messages, such as gateway-1. Required.
	Name string
	// Build describes the binary: its commit and tags.
	Build string
	// Binary is the file to run, with Args. Required.
	Binary string
	Args   []string
	// Env contains additions to Environment.
	Env []string
	// Account is the account that runs the process. Only root may choose it. If nil, hookstorm's
	// own account runs the process.
	Account *syscall.Credential
	// Log is the file for the output. If empty, only the output's end is kept.
	Log string
	// LogSize bounds the log files, in bytes. At least the newest half is kept. Defaults to
	// 32 MiB.
	LogSize int64
	// ReadyURL answers 200 when the process can do its work. Once it answers at all, the process
	// handles signals. An example is /readyz of the admin listener. If empty, the process is ready
	// immediately.
	ReadyURL string
	// StopTimeout is the maximum time for a process to exit after SIGTERM. Defaults to 40 seconds.
	StopTimeout time.Duration
	// History gets a note of every start and end. Required.
	History *history.Writer
}

// Program runs at most one process at a time. It can be started again after its process has exited.
// It is safe for concurrent use.
type Program struct {
	opts   Options
	log    *log
	client *http.Client

	mu      sync.Mutex // held while a process is started
	process *process   // the last process, nil before the first
}

// New returns a program without starting it.
func New(opts Options) (*Program, error) {
	if opts.Name == "" || opts.Binary == "" || opts.History == nil {
		return nil, errors.New("program options: Name, Binary and History are required")
	}
	opts.LogSize = cmp.Or(opts.LogSize, 32<<20)
	opts.StopTimeout = cmp.Or(opts.StopTimeout, 40*time.Second)
	return &Program{
		opts: opts, log: &log{path: opts.Log, limit: opts.LogSize},
		client: &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}, nil
}

// Name returns the name from the options.
func (p *Program) Name() string { return p.opts.Name }

// Start starts a process. The variables in moreEnv are for this process only, and override the
// environment of the options. Start returns an error if a process is running, or if ctx is done.
func (p *Program) Start(ctx context.Context, moreEnv ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil && !p.process.ended() {
		return fmt.Errorf("start %s: it is already running", p.opts.Name)
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("start %s: %w", p.opts.Name, err)
	}
	started, err := launch(ctx, p.opts, moreEnv, p.log)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.opts.Name, err)
	}
	p.process = started
	return nil
}

// current returns the last process, or nil before the first.
func (p *Program) current() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Alive reports whether a process is running. A paused process counts.
func (p *Program) Alive() bool {
	process := p.current()
	return process != nil && !process.ended()
}

// PID returns the id of the running process, or 0 if none is running.
func (p *Program) PID() int {
	process := p.current()
	if process == nil || process.ended() {
		return 0
	}
	return process.pid
}

// Exited returns a channel that is closed when the last process has exited. The channel is already
// closed if no process was started.
func (p *Program) Exited() <-chan struct{} {
	process := p.current()
	if process == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return process.done
}

// Ended describes the exit of the last process, and reports whether hookstorm caused that exit. The
// description is empty while the process is running, or if none was started.
func (p *Program) Ended() (how string, ordered bool) {
	process := p.current()
	if process == nil || !process.ended() {
		return "", false
	}
	return process.how, process.ordered.Load()
}

// LastLines returns the end of the processes' output.
func (p *Program) LastLines() string { return p.log.end() }

// Ready waits until the process can do its work. Without Options.ReadyURL, it does not wait. It
// returns an error if no process was started, or if the process exits or ctx is done first.
func (p *Program) Ready(ctx context.Context) error {
	process := p.current()
	if process == nil {
		return fmt.Errorf("%s is not ready: it was not started", p.opts.Name)
	}
	if p.opts.ReadyURL == "" {
		return nil
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if p.ask(ctx, process) == http.StatusOK {
			return nil
		}
		select {
		case <-ticker.C:
		case <-process.done:
			return fmt.Errorf("%s is not ready: it ended: %s\n%s", p.opts.Name, process.how, p.log.end())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.opts.Name, context.Cause(ctx), p.log.end())
		}
	}
}

// ask requests ReadyURL and returns the status of the response, or 0 if there is no response.
func (p *Program) ask(ctx context.Context, process *process) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.opts.ReadyURL, http.NoBody)
	if err != nil {
		return 0
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close() // the body is not needed
	process.listening.Store(true)
	return answer.StatusCode
}
