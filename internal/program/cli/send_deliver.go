package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/testevent"
)

// deliverAll sends all deliveries, up to opts.parallel simultaneously.
func (s *sender) deliverAll(ctx context.Context, event *provider.Request) *Report {
	answers := make([]testevent.Answer, s.opts.times)
	var next, done atomic.Int64
	var sending sync.WaitGroup
	started := time.Now()
	stopProgress := s.progress(&done)
	for range min(s.opts.parallel, s.opts.times) {
		sending.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(s.opts.times) {
					return
				}
				one := event
				if s.opts.newIDs && i > 0 {
					one = s.event()
				}
				answers[i] = s.Deliver(ctx, one)
				done.Add(1)
			}
		})
	}
	sending.Wait()
	stopProgress()
	return newReport(answers[:min(next.Load(), int64(s.opts.times))], time.Since(started))
}

// progress shows the progress on a terminal until the caller calls stop.
func (s *sender) progress(done *atomic.Int64) (stop func()) {
	if !s.terminal || s.opts.times == 1 {
		return func() {}
	}
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		told := false
		for {
			select {
			case <-ticker.C:
				told = true
				fmt.Fprintf(s.Stderr, "\r%d of %d deliveries answered", done.Load(), s.opts.times)
			case <-ended:
				if told {
					fmt.Fprint(s.Stderr, "\r\033[K")
				}
				return
			}
		}
	})
	return func() {
		close(ended)
		telling.Wait()
	}
}

// unreachable returns an error if no delivery got a response, and otherwise nil.
func (r *Report) unreachable(s *sender) error {
	if r.Answers > 0 || r.firstErr == nil {
		return nil
	}
	if refused(r.firstErr) {
		return fmt.Errorf("no gateway listens at %s; start one with: %s dev", s.Target.Called, s.Name)
	}
	if errors.Is(r.firstErr, context.Canceled) {
		return r.firstErr
	}
	return fmt.Errorf("no response from %s: %w", s.Target.Called, r.firstErr)
}
