package programs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Options configure a Program.
type Options struct {
	// Name is what the history and messages call it, such as gateway-1. Required.
	Name string
	// Build names the binary for people: its commit and tags.
	Build string
	// Binary is the file to run, with Args. Required.
	Binary string
	Args   []string
	// Env is added to our own environment, without those variables of it that would
	// change what our programs do.
	Env []string
	// Log is the file that gets what it prints. Empty: nothing is kept but the end.
	Log string
	// LogSize bounds the file, in bytes: the newest half or more is kept. Defaults to
	// 32 MB.
	LogSize int64
	// ReadyURL answers 200 when the process can do its work, and anything at all as
	// soon as it heeds signals: /readyz of the admin listener. Empty: it is ready at
	// once.
	ReadyURL string
	// StopTimeout is how long a process may take to end after SIGTERM. Defaults to
	// 40 seconds.
	StopTimeout time.Duration
	// History gets a note of every start and end. Required.
	History *history.Writer
}

// Program is one of which at most one process runs at a time. It may be started
// again whenever that has ended. It is safe for concurrent use.
type Program struct {
	opts   Options
	log    *log
	client *http.Client

	mu      sync.Mutex // held while a process is started
	process *process   // the last one, nil before the first
}

// New returns a program. It starts nothing.
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

// Name is that of the options.
func (p *Program) Name() string { return p.opts.Name }

// Start starts a process. More environment is for this process only, and goes
// before that of the options. It is an error while one runs.
func (p *Program) Start(ctx context.Context, moreEnv ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil && !p.process.ended() {
		return fmt.Errorf("start %s: it runs already", p.opts.Name)
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

// current is the last process, nil before the first.
func (p *Program) current() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Alive tells whether a process runs; one that is paused does.
func (p *Program) Alive() bool {
	process := p.current()
	return process != nil && !process.ended()
}

// PID is the id of the process that runs, 0 when none does.
func (p *Program) PID() int {
	process := p.current()
	if process == nil || process.ended() {
		return 0
	}
	return process.pid
}

// Exited is closed when the process that was started last has ended.
func (p *Program) Exited() <-chan struct{} {
	process := p.current()
	if process == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return process.done
}

// Ended says how the last process ended, and whether we ordered it. Empty while
// it runs.
func (p *Program) Ended() (how string, ordered bool) {
	process := p.current()
	if process == nil || !process.ended() {
		return "", false
	}
	return process.how, process.ordered.Load()
}

// LastLines is the end of what its processes printed.
func (p *Program) LastLines() string { return p.log.end() }

// Ready waits until the process can do its work. It fails when the process ends,
// or ctx does.
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

// ask returns what /readyz answers, 0 for no answer.
func (p *Program) ask(ctx context.Context, process *process) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.opts.ReadyURL, http.NoBody)
	if err != nil {
		return 0
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close() // nobody reads it
	process.listening.Store(true)
	return answer.StatusCode
}
