package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// duplicatesTurn measures accepting with different shares of duplicates. It compares the gateway
// with the limit: a server without a database, for which a duplicate costs as much as a new event.
func duplicatesTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.storm(ctx); err != nil {
			return err
		}
		for _, share := range []float64{0.5, 0} {
			who := fmt.Sprintf(report.DuplicateShare, 100*share)
			if err := b.acceptAs(ctx, accepting, load.Options{Duplicates: share}, report.SectionDuplicates, who, b.sizes.accept); err != nil {
				return err
			}
		}
	}
	return nil
}

// storm measures a load of duplicates only, in turn with the limit. It lasts for seconds, because
// the memory and the cache of a gateway still grow during the first second.
func (b *bench) storm(ctx context.Context) error {
	both := []subject{limit, accepting.as(fmt.Sprintf(report.DuplicateShare, 100.0))}
	return b.compete(ctx, both, load.Options{Duplicates: 1}, b.sizes.accept, func(both []*contestant) error {
		if err := b.inTurn(ctx, report.SectionDuplicates, 10*b.sizes.accept, both); err != nil {
			return err
		}
		for _, c := range both {
			b.memory(report.SectionDuplicates, c.name, c.scene)
		}
		return nil
	})
}

// gatewaysTurn measures how one, two and four gateways accept events into one Postgres.
func gatewaysTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		for _, n := range []int{1, 2, 4} {
			many := accepting
			many.roles = slices.Repeat([]string{roleGateway}, n)
			if err := b.acceptAs(ctx, many, load.Options{}, report.SectionGateways, strconv.Itoa(n), b.sizes.accept); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectionTurn measures how much statistics add to the cost of accepting an event. This tree
// takes turns with Options.Previous, a commit that does not yet collect statistics. A turn is long
// enough for the gateways to write their counts and statistics several times.
func collectionTurn(ctx context.Context, b *bench) error {
	if b.opts.Previous == "" {
		return errors.New("collection needs --previous, a commit without statistics")
	}
	if err := b.buildPrevious(ctx); err != nil {
		return err
	}
	both := []subject{accepting.as(report.PreviousCommit), accepting.as(report.ThisTree)}
	for range b.rounds {
		if err := b.compete(ctx, both, load.Options{}, b.sizes.warm, func(both []*contestant) error {
			return b.inTurn(ctx, report.SectionCollection, 10*b.sizes.accept, both)
		}); err != nil {
			return err
		}
	}
	return nil
}

// bodiesTurn measures the cost of large bodies.
func bodiesTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.acceptAs(ctx, accepting, load.Options{Size: 1_000_000}, report.SectionBodies, report.Hooklatch, b.sizes.accept/20); err != nil {
			return err
		}
	}
	return nil
}

// acceptAs measures accepting n events, and the memory of the subject's processes.
func (b *bench) acceptAs(ctx context.Context, who subject, o load.Options, section, name string, n int) error {
	return b.play(ctx, who, database{}, func(s *scene) error {
		client, err := s.dialWarm(ctx, o, min(b.sizes.warm, n/4))
		if err != nil {
			return err
		}
		if err := s.accept(ctx, client, n, section, name); err != nil {
			return err
		}
		b.memory(section, name, s)
		return nil
	})
}

// connectionsTurn measures the memory of a gateway with many connections, each of which delivers
// one event and is then idle.
func connectionsTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.play(ctx, accepting, database{}, func(s *scene) error {
			client, err := s.dial(ctx, load.Options{Connections: b.sizes.connections, Lazy: true})
			if err != nil {
				return err
			}
			if err := client.Each(ctx); err != nil {
				return err
			}
			if err := retry.Wait(ctx, b.sizes.idleAfter); err != nil { // an idle gateway returns the memory of a burst
				return err
			}
			b.report.Add(report.SectionConnections, report.Hooklatch, report.Connections, float64(client.Connected()))
			b.memory(report.SectionConnections, report.Hooklatch, s)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// memory reports two sums over the scene's processes: their current memory, and the peak memory of
// each.
func (b *bench) memory(section, who string, s *scene) {
	if !meter.Known() {
		return
	}
	var now, peak int64
	for _, p := range s.processes {
		held, most := meter.Memory(p.PID())
		now, peak = now+held, peak+most
	}
	b.report.Add(section, who, report.Memory, float64(now)/1e6)
	b.report.Add(section, who, report.MemoryPeak, float64(peak)/1e6)
}
