package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
)

// bursts is the number of bursts in which contestants take turns.
const bursts = 10

// contestant is a running subject that takes turns with others.
type contestant struct {
	name   string
	scene  *scene
	client *load.Client
}

// compete starts subjects, warms each up with some events, and then calls the function do. Each
// subject is measured under its name.
func (b *bench) compete(ctx context.Context, subjects []subject, o load.Options, warm int, do func(all []*contestant) error) (err error) {
	var all []*contestant
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.scene.leave(context.WithoutCancel(ctx)))
		}
	}()
	for _, who := range subjects {
		s, err := b.enter(ctx, who, database{})
		if err != nil {
			return err
		}
		all = append(all, &contestant{name: who.name, scene: s})
		client, err := s.dialWarm(ctx, o, warm)
		if err != nil {
			return err
		}
		all[len(all)-1].client = client
	}
	return do(all)
}

// dialWarm opens connections, and warms up the processes with some events.
func (s *scene) dialWarm(ctx context.Context, o load.Options, warm int) (*load.Client, error) {
	client, err := s.dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := client.Closed(ctx, warm); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	return client, nil
}

// inTurn lets each contestant accept n events, in bursts that alternate between the contestants. So
// all contestants run under the same conditions, although the speed of a virtual machine changes
// within seconds. Postgres' work between the bursts of a contestant counts as the contestant's own.
func (b *bench) inTurn(ctx context.Context, section string, n int, all []*contestant) error {
	before := make([]account, len(all))
	for i, c := range all {
		var err error
		if before[i], err = c.scene.account(ctx); err != nil {
			return err
		}
	}
	runs := make([][]load.Run, len(all))
	client := make([]time.Duration, len(all))
	for burst := range bursts {
		for turn := range all {
			i := (turn + burst) % len(all) // each contestant is the first in some of the bursts
			began := meter.Self()
			run, err := all[i].client.Closed(ctx, max(n/bursts, 1))
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			runs[i], client[i] = append(runs[i], run), client[i]+meter.Self()-began
		}
	}
	for i, c := range all {
		after, err := c.scene.account(ctx)
		if err != nil {
			return err
		}
		after.client = before[i].client + client[i]
		run := load.Join(runs[i])
		b.timings(section, c.name, run)
		if err := c.scene.costs(ctx, section, c.name, run.Events, before[i], after); err != nil {
			return err
		}
	}
	return nil
}
