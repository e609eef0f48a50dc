package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// sharingGateways is the number of gateways that receive duplicates of each other's events.
const sharingGateways = 4

// counted is the longest time that a gateway takes to write its counts of duplicates.
const counted = 2 * time.Second

// sharedTurn measures deliveries of events that another gateway has accepted. Each event arrives
// once at each of the other gateways. None of these has the event in its own duplicate cache.
func sharedTurn(ctx context.Context, b *bench) error {
	without := accepting.as(report.FourGateways)
	without.roles = slices.Repeat([]string{roleGateway}, sharingGateways)
	with := without.as(report.SharedMemory)
	with.sharing = true
	for range b.rounds {
		for _, who := range []subject{without, with} {
			if err := b.play(ctx, who, database{}, func(s *scene) error { return s.acceptOfOthers(ctx) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptOfOthers measures the cost of duplicates, including the counts that gateways write
// afterwards.
func (s *scene) acceptOfOthers(ctx context.Context) error {
	first, err := s.dial(ctx, load.Options{ID: ownIDs()})
	if err != nil {
		return err
	}
	if _, err := first.Closed(ctx, s.bench.sizes.accept); err != nil {
		return fmt.Errorf("accept the events: %w", err)
	}
	again, err := s.dial(ctx, load.Options{ID: othersIDs()})
	if err != nil {
		return err
	}
	if err := retry.Wait(ctx, counted); err != nil {
		return err
	}
	before, err := s.account(ctx)
	if err != nil {
		return err
	}
	run, err := again.Closed(ctx, (sharingGateways-1)*s.bench.sizes.accept)
	if err != nil {
		return err
	}
	if err := retry.Wait(ctx, counted); err != nil {
		return err
	}
	s.bench.timings(report.SectionShared, s.who.name, run)
	return s.costsSince(ctx, report.SectionShared, s.who.name, run.Events, before)
}

// ownIDs returns a function that returns a new id for a gateway.
func ownIDs() func(server int) string {
	var sent [sharingGateways]atomic.Int64
	return func(server int) string { return idAt(int(sent[server].Add(1)-1)*sharingGateways + server) }
}

// othersIDs returns a function that returns, for a gateway, each id that ownIDs gave to another
// gateway, once.
func othersIDs() func(server int) string {
	var sent [sharingGateways]atomic.Int64
	return func(server int) string {
		const others = sharingGateways - 1
		n := int(sent[server].Add(1) - 1)
		return idAt(n/others*sharingGateways + (server+1+n%others)%sharingGateways)
	}
}
