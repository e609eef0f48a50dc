package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
)

const (
	maxAnswer = 4 << 10 // maximum bytes read of a response
)

// answer is the result of one delivery.
type answer struct {
	status int    // 0 without a response
	result string // header Hooklatch-Status
	body   string // body of a response that is not 2xx
	err    error
	took   time.Duration
}

// deliverAll sends all deliveries, up to opts.parallel simultaneously.
func (s *sender) deliverAll(ctx context.Context, event *provider.Request) *report {
	answers := make([]answer, s.opts.times)
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
				answers[i] = s.deliver(ctx, one)
				done.Add(1)
			}
		})
	}
	sending.Wait()
	stopProgress()
	return newReport(answers[:min(next.Load(), int64(s.opts.times))], time.Since(started))
}

// deliver sends one delivery and reads the response.
func (s *sender) deliver(ctx context.Context, event *provider.Request) answer {
	signed, err := s.signed(event)
	if err != nil {
		return answer{err: err}
	}
	r, err := http.NewRequestWithContext(ctx, signed.Method, s.target.deliver(signed.URL), bytes.NewReader(signed.Body))
	if err != nil {
		return answer{err: err}
	}
	r.Header = signed.Header
	if host := signed.Header.Get("Host"); host != "" {
		r.Host = host
	}
	started := time.Now()
	response, err := s.client.Do(r)
	if err != nil {
		return answer{err: err, took: time.Since(started)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	a := answer{status: response.StatusCode, result: response.Header.Get(gateway.StatusHeader), err: err, took: time.Since(started)}
	if a.status/100 != 2 {
		a.body = string(bytes.TrimSpace(body))
	}
	return a
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
				fmt.Fprintf(s.stderr, "\r%d of %d deliveries answered", done.Load(), s.opts.times)
			case <-ended:
				if told {
					fmt.Fprint(s.stderr, "\r\033[K")
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

// unreachable returns an error if the gateway could not be reached, or nil.
func (r *report) unreachable(s *sender) error {
	if r.Answers > 0 || r.firstErr == nil {
		return nil
	}
	if refused(r.firstErr) {
		return fmt.Errorf("no gateway listens at %s; start one with: %s dev", s.target.called, s.name)
	}
	if errors.Is(r.firstErr, context.Canceled) {
		return r.firstErr
	}
	return fmt.Errorf("no response from %s: %w", s.target.called, r.firstErr)
}
