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

// maxTraced is the number of passages of one place that are written to the trace.
const maxTraced = 20

// places holds one process's failpoints.
type places struct {
	rules        map[string][]rule
	trace, fired *os.File // nil: none

	mu     sync.Mutex
	passed map[string]int // number of passages by place
}

func (p *places) hit(name string) error {
	r, passage := p.pass(name)
	switch r.action {
	case actionKill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail for our own process
		select {}                                      // no later code may run before the signal arrives
	case actionStop:
		// The system chooses the thread that receives the signal, and the other threads stop only
		// when that thread is scheduled. So this thread waits for SIGCONT before it runs the code
		// after this place.
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // cannot fail for our own process
		<-continued
	case actionDelay:
		time.Sleep(r.delay)
	case actionError:
		return fmt.Errorf("failpoint %s, passage %d", name, passage)
	}
	return nil
}

// pass counts and records the passage, and returns its rule, if any, and its number.
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

// record appends a line in one write, so that other processes that append to the same file do
// not split it.
func record(file *os.File, line string) {
	if file == nil {
		return
	}
	if _, err := file.WriteString(line + "\n"); err != nil {
		fmt.Fprintln(os.Stderr, "failpoint:", err)
	}
}
