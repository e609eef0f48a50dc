package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
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
func (b *bench) storm(ctx context.Context) (err error) {
	var both []*contestant
	defer func() {
		for _, c := range both {
			err = errors.Join(err, c.leave(ctx))
		}
	}()
	for _, who := range []subject{limit, accepting} {
		name := who.name
		if name == report.Hooklatch {
			name = fmt.Sprintf(report.CameBefore, 100.0)
		}
		c, err := b.contest(ctx, who, name, load.Options{Duplicates: 1}, b.sizes.accept)
		if err != nil {
			return err
		}
		both = append(both, c)
	}
	if err := b.inTurn(ctx, report.SectionDuplicates, 10*b.sizes.accept, both); err != nil {
		return err
	}
	for _, c := range both {
		b.memory(report.SectionDuplicates, c.name, c.stage)
	}
	return nil
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

// poolsTurn measures which pool is the best for what Hooklatch is compared with: it is
// to be no straw man.
func poolsTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		for _, n := range []int{8, 16, contender.DefaultConns, 48, 64} {
			pooled := naiveWithoutGIN
			pooled.conns = n
			if err := b.acceptAs(ctx, pooled, load.Options{}, report.SectionPools, strconv.Itoa(n), b.sizes.accept); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectionTurn measures what statistics cost those who accept: a commit of before they
// were gathered has the other half of each turn.
func collectionTurn(ctx context.Context, b *bench) error {
	if b.opts.Previous == "" {
		return errors.New("collection needs --previous, a commit that does not count")
	}
	if err := b.buildPrevious(ctx); err != nil {
		return err
	}
	for range b.rounds {
		if err := b.collect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// collect has both accept in turn, for so long that each adds its counts and collects
// several times.
func (b *bench) collect(ctx context.Context) (err error) {
	previous := accepting
	previous.name, previous.previous = report.PreviousCommit, true
	current := accepting
	current.name = report.ThisTree
	var both []*contestant
	defer func() {
		for _, c := range both {
			err = errors.Join(err, c.leave(ctx))
		}
	}()
	for _, who := range []subject{previous, current} {
		c, err := b.contest(ctx, who, who.name, load.Options{}, b.sizes.warm)
		if err != nil {
			return err
		}
		both = append(both, c)
	}
	return b.inTurn(ctx, report.SectionCollection, 10*b.sizes.accept, both)
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
func (b *bench) acceptAs(ctx context.Context, who subject, o load.Options, section, name string, n int) (err error) {
	s, err := b.enter(ctx, who)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.dial(ctx, o)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Closed(ctx, min(b.sizes.warm, n/4)); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := client.Closed(ctx, n)
	if err != nil {
		return err
	}
	b.timings(section, name, run)
	if err := s.costsSince(ctx, section, name, run.Events, before); err != nil {
		return err
	}
	b.memory(section, name, s)
	return nil
}

// connectionsTurn opens many connections, of which each has brought one event and
// waits.
func connectionsTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.holdConnections(ctx, b.sizes.connections); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) holdConnections(ctx context.Context, n int) (err error) {
	s, err := b.enter(ctx, accepting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.dial(ctx, load.Options{Connections: n, Lazy: true})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Each(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, b.sizes.idleAfter); err != nil { // a gateway at rest gives back what a burst took
		return err
	}
	b.report.Add(report.SectionConnections, report.Hooklatch, report.Connections, float64(client.Connected()))
	b.memory(report.SectionConnections, report.Hooklatch, s)
	return nil
}

// memory writes down what the gateways hold, of all of them together.
func (b *bench) memory(section, who string, s *stage) {
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
