package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// underway counts the runs of this process: jobs, and attempts without a job. A stop waits for
// these runs. Runs that dispatch an event or attempt an effect count as progress. Upkeep does not:
// it continues while dispatches and attempts are stuck.
type underway struct {
	runs         sync.WaitGroup
	begun, ended atomic.Int64
}

// begin counts a run of a job of the kind. The caller must call end when the run has ended.
func (r *underway) begin(kind string) (end func()) {
	r.runs.Add(1)
	if kind != riverjob.KindDispatch && kind != riverjob.KindEffect {
		return r.runs.Done
	}
	r.begun.Add(1)
	return func() {
		r.ended.Add(1)
		r.runs.Done()
	}
}

// attempt makes an attempt without a job in a new goroutine.
func (r *underway) attempt(attempt func()) {
	end := r.begin(riverjob.KindEffect)
	go func() {
		defer end()
		attempt()
	}()
}

// Wait returns when all runs have ended.
func (r *underway) Wait() { r.runs.Wait() }

// Progress returns the number of dispatches and attempts in progress, and the number that have
// ended since the start. A worker is stuck if underway stays above 0 while ended does not change
// for longer than LongestRun.
func (w *Worker) Progress() (underway, ended int64) {
	ended = w.running.ended.Load() // read first, so that underway is never too small
	return w.running.begun.Load() - ended, ended
}

// LongestRun returns the maximum duration of a dispatch or an attempt.
func (w *Worker) LongestRun() time.Duration { return w.opts.JobTimeout }
