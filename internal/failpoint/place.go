//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// maxTraced is how many passages of one place are written to the trace.
const maxTraced = 20

// places are the failpoints of one process.
type places struct {
	rules        map[string][]rule
	trace, fired *os.File // nil: none

	mu     sync.Mutex
	passed map[string]int // by name
}

func (p *places) hit(name string) error {
	r, passage := p.pass(name)
	switch r.action {
	case actionKill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // our own process: this cannot be refused
		select {}                                      // no later code may run before the signal arrives
	case actionStop:
		// The signal goes to a thread that the system chooses, and stops the others only
		// when that one is scheduled. The code after this place waits until the stop has
		// ended.
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // see above
		<-continued
	case actionDelay:
		time.Sleep(r.delay)
	case actionError:
		return fmt.Errorf("failpoint %s, passage %d", name, passage)
	}
	return nil
}

// pass counts and records the passage, and returns the rule for it, or none.
func (p *places) pass(name string) (rule, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[name]++
	passage := p.passed[name]
	if passage <= maxTraced {
		record(p.trace, name)
	}
	for _, r := range p.rules[name] {
		if r.covers(passage) {
			record(p.fired, fmt.Sprint(name, " ", r.action, " ", passage))
			return r, passage
		}
	}
	return rule{}, passage
}

// record appends a line in one write, so that other processes appending to the same file
// do not cut it.
func record(file *os.File, line string) {
	if file == nil {
		return
	}
	if _, err := file.WriteString(line + "\n"); err != nil {
		fmt.Fprintln(os.Stderr, "failpoint:", err)
	}
}
