package hooktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker"
)

const (
	// handlers is the maximum number of handlers that run simultaneously, in addition to runs that
	// are rolled back.
	handlers = MaxEvents
	// patience is the maximum time for one step on a busy machine.
	patience = 2 * time.Minute
	// lookEvery is the interval at which the end of a step is checked.
	lookEvery = 5 * time.Millisecond
	// maxErrors is the number of errors of one event after which a handler counts as never
	// finishing. Deadlocks and similar conflicts cause fewer errors.
	maxErrors = 4
)

// trial runs one handler in its own World.
type trial struct {
	Case
	World
	ctx     context.Context // context of the whole trial
	worker  *worker.Worker
	handle  worker.HandlerFunc
	disturb disturbance
	behind  sync.WaitGroup // runs that are rolled back

	mu     sync.Mutex
	begun  map[identity.EventRef]bool
	errors map[identity.EventRef][]error // errors of the worker's own runs
}

// try carries out a plan and returns its end state. A failure is the handler's fault; an error is
// not.
func (c Case) try(ctx context.Context, p plan) (state string, failure, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pool, done, err := pgtest.Open(ctx, pgtest.MaxConns(worker.ConnsNeeded(0, 2*handlers)))
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: patience})
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, box.Stop(context.WithoutCancel(ctx))) }()
	t := &trial{
		Case: c, World: World{DB: pool, Outbox: box}, ctx: ctx, disturb: p.disturb,
		begun: map[identity.EventRef]bool{}, errors: map[identity.EventRef][]error{},
	}
	if t.handle, err = c.Make(ctx, t.World); err != nil {
		return "", nil, fmt.Errorf("make the handler: %w", err)
	}
	if err := t.start(ctx); err != nil {
		return "", nil, err
	}
	failure, err = t.carryOut(ctx, p.steps)
	if err == nil && failure == nil {
		t.behind.Wait()
		state, err = t.state(ctx)
	}
	cancel() // cancels runs that are still in the background
	err = errors.Join(err, t.worker.Stop(context.WithoutCancel(ctx)))
	t.behind.Wait() // no run can start another run now
	return state, failure, err
}

func (t *trial) start(ctx context.Context) error {
	opts := worker.Options{Pool: t.DB, Outbox: t.Outbox, HandlerWorkers: handlers, SoftStop: time.Second}
	for _, name := range t.Destinations {
		opts.Destinations = append(opts.Destinations, worker.DestinationOptions{Name: name, Sender: accepting{}})
	}
	var err error
	if t.worker, err = worker.New(opts); err != nil {
		return err
	}
	t.worker.Handle(t.Source, "*", t.run)
	return t.worker.Start(ctx)
}

// carryOut carries out the steps in order. A failure is the handler's fault; an error is not.
func (t *trial) carryOut(ctx context.Context, steps []step) (failure, err error) {
	for _, s := range steps {
		refs, err := t.begin(ctx, s)
		if err != nil {
			return nil, err
		}
		if failure, err := t.wait(ctx, refs); failure != nil || err != nil {
			return failure, err
		}
	}
	return nil, nil
}

// begin delivers or replays the events of a step, and returns the events to be handled.
func (t *trial) begin(ctx context.Context, s step) ([]identity.EventRef, error) {
	var refs []identity.EventRef
	var delivering sync.WaitGroup
	results := make(chan error, len(s.events)*2*max(s.times, 1))
	for _, e := range s.events {
		ids := []string{e.ID}
		if s.also != "" {
			ids = append(ids, e.ID+s.also)
		}
		for _, id := range ids {
			ref := identity.EventRef{Source: identity.Source(t.Source), EventID: identity.EventID(id)}
			refs = append(refs, ref)
			if s.replay {
				by := ledger.Operator{Who: "hooktest", Via: "test", Reason: "trouble"}
				if _, err := t.Outbox.Inbox().Replay(ctx, ref, by, inbox.ReplayOptions{}); err != nil {
					return nil, err
				}
				continue
			}
			for range max(s.times, 1) {
				delivering.Go(func() {
					_, err := t.Outbox.Accept(ctx, t.delivery(e, id))
					results <- err
				})
			}
		}
	}
	delivering.Wait()
	close(results)
	for err := range results {
		if err != nil {
			return nil, fmt.Errorf("deliver: %w", err)
		}
	}
	return refs, nil
}

// wait returns when all events have been handled. It returns a failure when an event has failed,
// has been tried maxErrors times, or was not handled within patience.
func (t *trial) wait(ctx context.Context, refs []identity.EventRef) (failure, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for len(refs) > 0 {
		event, err := t.Outbox.Inbox().Event(ctx, refs[0])
		errs := t.errorsOf(refs[0])
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return notHandled(refs[0], errs), nil
		case err != nil:
			return nil, err
		case event.Outcome == inbox.Dispatched:
			refs = refs[1:]
			continue
		case event.Outcome == inbox.Failed:
			return fmt.Errorf("event %s has failed: %s", refs[0].EventID, event.Error), nil
		case len(errs) >= maxErrors:
			return fmt.Errorf("event %s has been tried %d times: %w", refs[0].EventID, len(errs), errs[len(errs)-1]), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return nil, nil
}

// notHandled returns the failure of a step that took too long.
func notHandled(ref identity.EventRef, errs []error) error {
	if len(errs) == 0 {
		return fmt.Errorf("event %s was not handled within %s, and no run of it has failed", ref.EventID, patience)
	}
	return fmt.Errorf("event %s was not handled within %s: %w", ref.EventID, patience, errs[len(errs)-1])
}

// state returns the text to compare: the result of State, then a line for each effect.
func (t *trial) state(ctx context.Context) (string, error) {
	state, err := t.State(ctx, t.World)
	if err != nil {
		return "", fmt.Errorf("State: %w", err)
	}
	text, ok := state.(string)
	if !ok {
		encoded, err := json.MarshalIndent(state, "", "  ")
		if err != nil {
			return "", fmt.Errorf("State: %w", err)
		}
		text = string(encoded)
	}
	rows, err := t.DB.Query(ctx, `SELECT format('effect %s for %s', key, destination) FROM hooklatch.effects ORDER BY 1`)
	if err != nil {
		return "", fmt.Errorf("list effects: %w", err)
	}
	effects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", fmt.Errorf("list effects: %w", err)
	}
	return strings.Join(append([]string{text}, effects...), "\n"), nil
}

func (t *trial) errorsOf(ref identity.EventRef) []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errors[ref]
}
