package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options configure a Client.
type Options struct {
	// Addresses are the addresses of the servers, host:port. The client distributes its
	// connections evenly over the servers. Required.
	Addresses []string
	// Source is the endpoint that receives the events. Defaults to the constant Source.
	Source string
	// Connections is the total number of connections. Defaults to 64.
	Connections int
	// Size is the size of a body in bytes. Defaults to DefaultSize.
	Size int
	// Order is the order of the ids. Defaults to Random.
	Order Order
	// Duplicates is the share of events that repeat an earlier one, from 0 to 1. Defaults to 0.
	Duplicates float64
	// ID returns the id of the next event for the server with the given index in Addresses. It may
	// be called concurrently. If nil, all ids are new, except those of Duplicates.
	ID func(server int) string
	// Lazy makes the client open each connection for its first event, not in Dial.
	Lazy bool
}

// Client sends events over connections that it keeps open. It is not safe for concurrent use.
type Client struct {
	conns []*conn
}

// Dial opens the connections, unless Options.Lazy is true. The end of ctx interrupts requests on
// these connections.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("load needs a server")
	}
	o.Source = cmp.Or(o.Source, Source)
	o.Connections, o.Size, o.Order = cmp.Or(o.Connections, 64), cmp.Or(o.Size, DefaultSize), cmp.Or(o.Order, Random)
	client := &Client{}
	for i := range o.Connections {
		made, err := newMaker(o)
		if err != nil {
			return nil, err
		}
		if o.ID != nil {
			made.given = func() string { return o.ID(i % len(o.Addresses)) }
		}
		c := &conn{address: o.Addresses[i%len(o.Addresses)], maker: made}
		client.conns = append(client.conns, c)
		if o.Lazy {
			continue
		}
		if err := c.dial(ctx); err != nil {
			client.Close()
			return nil, fmt.Errorf("open connection %d: %w", i+1, err)
		}
	}
	return client, nil
}

// Close closes the connections.
func (c *Client) Close() {
	for _, one := range c.conns {
		one.close()
	}
}

// Run is the result of sending some events.
type Run struct {
	Events   int
	Repeated int // number of repeated requests, after a 503, a 429 or a broken connection
	Began    time.Time
	Ended    time.Time

	// Sent contains the events that Steady sent, in no particular order.
	Sent []Sent

	latencies []time.Duration // ascending
}

// Sent is one event that a server accepted.
type Sent struct {
	ID    string
	Began time.Time // when the event was due
}

// Rate returns the number of accepted events per second.
func (r Run) Rate() float64 { return float64(r.Events) / r.Ended.Sub(r.Began).Seconds() }

// Join combines runs of one client as if each had begun when the previous one ended.
func Join(runs []Run) Run {
	var all Run
	for i, run := range runs {
		if i == 0 {
			all.Began, all.Ended = run.Began, run.Began
		}
		all.Events, all.Repeated = all.Events+run.Events, all.Repeated+run.Repeated
		all.Ended = all.Ended.Add(run.Ended.Sub(run.Began))
		all.latencies = append(all.latencies, run.latencies...)
	}
	slices.Sort(all.latencies)
	return all
}

// Latency returns a quantile of the latencies: share is 0.99 for the 99th percentile. It returns 0
// if there are no latencies.
func (r Run) Latency(share float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[int(share*float64(len(r.latencies)-1))]
}

// Closed sends n events. Each connection sends its next event after the response to the previous
// one.
func (c *Client) Closed(ctx context.Context, n int) (Run, error) {
	return c.run(ctx, plan{begin: func(_ context.Context, i int) (time.Time, bool) { return time.Now(), i < n }})
}

// Open sends n events at a constant rate, regardless of earlier responses. The latency counts from
// the moment at which an event was due, even if the event waited for a connection.
func (c *Client) Open(ctx context.Context, n int, perSecond float64) (Run, error) {
	due := constant(perSecond)
	return c.run(ctx, plan{begin: func(ctx context.Context, i int) (time.Time, bool) {
		if i >= n {
			return time.Time{}, false
		}
		return due(ctx, i), true
	}})
}

// Steady sends events as Open does, until the channel end is closed, and returns each of them in
// Run.Sent.
func (c *Client) Steady(ctx context.Context, perSecond float64, end <-chan struct{}) (Run, error) {
	due := constant(perSecond)
	return c.run(ctx, plan{sent: true, begin: func(ctx context.Context, i int) (time.Time, bool) {
		at := due(ctx, i)
		select {
		case <-end:
			return at, false
		default:
			return at, true
		}
	}})
}

// constant returns a function for events at a constant rate. The function waits until the i-th
// event is due, and returns the time at which it was due.
func constant(perSecond float64) func(ctx context.Context, i int) time.Time {
	start := time.Now()
	return func(ctx context.Context, i int) time.Time {
		at := start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		sleepUntil(ctx, at)
		return at
	}
}

// One sends an event over the first connection. It returns the event's id, and the time at which
// sending began.
func (c *Client) One(ctx context.Context) (id string, began time.Time, err error) {
	began = time.Now()
	id, _, err = c.conns[0].deliver(ctx)
	return id, began, err
}

// atOnce is the number of connections that Each uses simultaneously.
const atOnce = 64

// Each sends one event over every connection. It uses at most atOnce connections at a time.
func (c *Client) Each(ctx context.Context) error {
	var sending errgroup.Group
	sending.SetLimit(atOnce)
	for _, one := range c.conns {
		sending.Go(func() error {
			_, _, err := one.deliver(ctx)
			return err
		})
	}
	if err := sending.Wait(); err != nil {
		return fmt.Errorf("send an event over each connection: %w", err)
	}
	return nil
}

// Connected returns how many connections are open, as far as the client knows.
func (c *Client) Connected() int {
	n := 0
	for _, one := range c.conns {
		if one.net != nil {
			n++
		}
	}
	return n
}

// plan describes what a run sends.
type plan struct {
	// begin waits until the i-th event is due, and returns the time from which the event's latency
	// counts. It returns false if there is no such event.
	begin func(ctx context.Context, i int) (time.Time, bool)
	sent  bool // Run.Sent must contain the events
}

// run sends the events of a plan over all connections.
func (c *Client) run(parent context.Context, p plan) (Run, error) {
	sending, ctx := errgroup.WithContext(parent)
	var next, repeated atomic.Int64
	perConn := make([][]time.Duration, len(c.conns))
	sent := make([][]Sent, len(c.conns))
	run := Run{Began: time.Now()}
	for w, one := range c.conns {
		sending.Go(func() error {
			for ctx.Err() == nil {
				began, more := p.begin(ctx, int(next.Add(1))-1)
				if !more {
					return nil
				}
				id, times, err := one.deliver(ctx)
				if err != nil {
					return err
				}
				repeated.Add(int64(times))
				perConn[w] = append(perConn[w], time.Since(began))
				if p.sent {
					sent[w] = append(sent[w], Sent{ID: id, Began: began})
				}
			}
			return nil
		})
	}
	err := sending.Wait()
	run.Ended = time.Now()
	if err = cmp.Or(err, context.Cause(parent)); err != nil {
		return run, fmt.Errorf("send events: %w", err)
	}
	run.Sent = slices.Concat(sent...)
	run.latencies = slices.Concat(perConn...)
	slices.Sort(run.latencies)
	run.Events, run.Repeated = len(run.latencies), int(repeated.Load())
	return run, nil
}
