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

// duplicatesTurn measures how events are accepted of which some came before, and the
// same server without a database, which has no more to do for events that are known.
func duplicatesTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.storm(ctx); err != nil {
			return err
		}
		for _, share := range []float64{0.5, 0} {
			who := fmt.Sprintf(report.CameBefore, 100*share)
			if err := b.acceptAs(ctx, accepting, load.Options{Duplicates: share}, report.SectionDuplicates, who, b.sizes.accept); err != nil {
				return err
			}
		}
	}
	return nil
}

// storm measures events all of which came before, in turn with the limit. It takes
// seconds: in its first one a server still grows.
func (b *bench) storm(ctx context.Context) error {
	both := []subject{limit, accepting.as(fmt.Sprintf(report.CameBefore, 100.0))}
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

// gatewaysTurn measures how several gateways share one Postgres.
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

// collectionTurn measures what statistics cost those who accept: a commit of before they
// were gathered has the other half of each turn, which is so long that each adds its
// counts and collects several times.
func collectionTurn(ctx context.Context, b *bench) error {
	if b.opts.Previous == "" {
		return errors.New("collection needs --previous, a commit that does not count")
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

// bodiesTurn measures what large bodies cost.
func bodiesTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.acceptAs(ctx, accepting, load.Options{Size: 1_000_000}, report.SectionBodies, report.Hooklatch, b.sizes.accept/20); err != nil {
			return err
		}
	}
	return nil
}

// acceptAs measures how n events are accepted, and the memory it takes.
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

// connectionsTurn opens many connections, of which each has brought one event and
// waits.
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
			if err := retry.Wait(ctx, b.sizes.idleAfter); err != nil { // a gateway at rest gives back what a burst took
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

// memory writes down what the gateways hold, of all of them together.
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
