package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
)

// bursts are the pieces in which events are taken in turn.
const bursts = 10

// contestant is a subject at work that takes events in turn with others.
type contestant struct {
	name   string
	stage  *stage
	client *load.Client
	// beside begins what goes on while it takes events, and returns what ends it. Nil:
	// nothing does.
	beside func(ctx context.Context) (end func() error)
}

// contest starts a subject and has it take some events, so that everything is warm.
func (b *bench) contest(ctx context.Context, who subject, name string, o load.Options, warm int) (_ *contestant, err error) {
	c := &contestant{name: name}
	if c.stage, err = b.enter(ctx, who); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.leave(ctx))
		}
	}()
	if c.client, err = c.stage.dial(ctx, o); err != nil {
		return nil, err
	}
	if _, err := c.client.Closed(ctx, warm); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	return c, nil
}

func (c *contestant) leave(ctx context.Context) error {
	if c.client != nil {
		c.client.Close()
	}
	return c.stage.leave(context.WithoutCancel(ctx))
}

// inTurn has each contestant take n events, in bursts that follow each other in turn:
// so all meet the same machine, whose speed changes within seconds where it is a guest.
// What one does between its bursts, Postgres' work on what it wrote, counts as its own.
func (b *bench) inTurn(ctx context.Context, section string, n int, all []*contestant) error {
	before := make([]account, len(all))
	for i, c := range all {
		var err error
		if before[i], err = c.stage.account(ctx); err != nil {
			return err
		}
	}
	runs := make([][]load.Run, len(all))
	client := make([]time.Duration, len(all))
	for burst := range bursts {
		for turn := range all {
			i := (turn + burst) % len(all) // each is the first, and comes behind each other
			end := func() error { return nil }
			if all[i].beside != nil {
				end = all[i].beside(ctx)
			}
			began := meter.Self()
			run, err := all[i].client.Closed(ctx, max(n/bursts, 1))
			err = errors.Join(err, end())
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			runs[i], client[i] = append(runs[i], run), client[i]+meter.Self()-began
		}
	}
	for i, c := range all {
		after, err := c.stage.account(ctx)
		if err != nil {
			return err
		}
		after.client = before[i].client + client[i]
		run := load.Join(runs[i])
		b.timings(section, c.name, run)
		if err := c.stage.costs(ctx, section, c.name, run.Events, before[i], after); err != nil {
			return err
		}
	}
	return nil
}
