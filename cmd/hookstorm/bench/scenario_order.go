package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// orderTurn measures the deliveries from the head of an order, once while few effects wait in the
// order, and once while many wait.
func orderTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		for who, waiting := range map[string]int{report.FewWaiting: b.sizes.few, report.ManyWaiting: b.sizes.many} {
			if err := b.deliverHeads(ctx, waiting, who); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverHeads creates an order of effects while the receiver is down. After the receiver
// restarts, it measures the time from one delivery to the next.
func (b *bench) deliverHeads(ctx context.Context, waiting int, who string) error {
	return b.playLife(ctx, ordering, database{}, func(s *scene, warm *load.Client) error {
		warm.Close()
		client, err := s.dial(ctx, load.Options{Source: ordering.second})
		if err != nil {
			return err
		}
		_, before, _, err := s.sendWhileDown(ctx, client, waiting)
		if err != nil {
			return err
		}
		heads := min(waiting, b.sizes.heads)
		if err := b.receiver.await(ctx, heads); err != nil {
			return err
		}
		came, _ := b.receiver.seen()
		var pauses []time.Duration
		for i := range heads - 1 {
			pauses = append(pauses, came[i+1].Sub(came[i]))
		}
		if len(pauses) == 0 {
			return fmt.Errorf("%d deliveries have no pause between them", heads)
		}
		slices.Sort(pauses) // the median ignores the first pauses, which include the wait for the breaker to close
		b.report.Add(report.SectionOrder, who, report.BetweenHeads, milliseconds(pauses[len(pauses)/2]))
		return s.costsSince(ctx, report.SectionOrder, who, heads, before)
	})
}
