package planted

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// stormed is the event that a storm delivers.
const stormed = "evt_storm"

// storm returns a step that delivers another event three times to a gateway. The gateway thereby
// confirms that the database is still the same, and keeps using its cache.
func storm(gateway string) step {
	return func(ctx context.Context, s *scene) error {
		for range 3 {
			if err := delivers(gateway, "stripe", stormed, 1)(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// knownEarly returns a step that delivers up to five events to the last gateway. It repeats each
// event at the gateway whose name is in the parameter second. If a repeated delivery is
// acknowledged before the first one, the step kills the last gateway. The step ends as soon as the
// kill has prevented the COMMIT of an event.
func knownEarly(second string) step {
	return func(ctx context.Context, s *scene) error {
		for _, to := range []string{"gateway", second} { // both gateways cache the event that vouched repeats
			if err := delivers(to, "stripe", stormed, 1)(ctx, s); err != nil {
				return err
			}
		}
		for round := range 5 {
			e, err := s.event("stripe", fmt.Sprintf("evt_known_early_%d", round))
			if err != nil {
				return err
			}
			known, err := s.comesAgain(ctx, s.processes["gateway"], s.processes[second], e)
			if err != nil {
				return err
			}
			if !known {
				continue
			}
			committed, err := s.holds(ctx, "SELECT FROM hooklatch.processed_events WHERE event_id = $1", e.id)
			if err != nil || !committed {
				return err
			}
			// On a busy machine the gateway may die after its COMMIT. Such a round shows nothing.
			if err := start("gateway", later)(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// knownElsewhere returns a step that sends up to ten events, each to a gateway of another database
// and then to the last gateway. The step ends as soon as the last gateway answers as if the event
// were a duplicate.
func knownElsewhere(other string) step {
	return func(ctx context.Context, s *scene) error {
		for round := range 10 {
			e, err := s.event("stripe", fmt.Sprintf("evt_known_elsewhere_%d", round))
			if err != nil {
				return err
			}
			// The command sends these deliveries, because the history covers only one database.
			// It sends each event several times, because the gateway also shares the duplicates
			// that it recognises.
			if err := command(other, "send", "stripe", "--id", e.id, "--times", "5")(ctx, s); err != nil {
				return err
			}
			if err := storm("gateway")(ctx, s); err != nil {
				return err
			}
			said, err := s.deliver(ctx, s.processes["gateway"], e, 1)
			if err != nil || said.Result == "duplicate" {
				return err
			}
		}
		return nil
	}
}

// comesAgain delivers an event whose COMMIT is late, and repeats it every 100 ms until that COMMIT.
// If a repeated delivery is acknowledged before the first one gets a response, comesAgain kills the
// gateway of the first delivery and returns true. One repeated delivery is not enough: on a busy
// machine, the shared cache often responds too late to be used.
func (s *scene) comesAgain(ctx context.Context, to, second *process, e event) (early bool, err error) {
	first := make(chan error, 1)
	go func() {
		_, err := s.deliver(ctx, to, e, 1)
		first <- err
	}()
	const waits = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
	if err := sees("a transaction waits to be committed", waits)(ctx, s); err != nil {
		return false, err
	}
	var others sync.WaitGroup
	defer others.Wait() // a late one would be taken for the next round's transaction
	if err := s.vouched(ctx, second, &others); err != nil {
		return false, err
	}
	acknowledged := make(chan struct{})
	known := sync.OnceFunc(func() { close(acknowledged) })
	for attempt := 2; ; attempt++ {
		others.Go(func() {
			if again, err := s.deliver(ctx, second, e, attempt); err == nil && again.Acknowledged {
				known()
			}
		})
		select {
		case answered := <-first:
			return false, answered
		case <-acknowledged:
		case <-time.After(100 * time.Millisecond):
			continue
		}
		select {
		case answered := <-first: // it may have let the repeated delivery see the event
			return false, answered
		default:
		}
		return true, errors.Join(to.Kill(), <-first)
	}
}

// vouched delivers another event until a gateway has twice answered it quickly, or has been slow
// three times. If the gateway delays its COMMITs, a quick answer comes from its cache. A gateway
// uses its cache only within a second of the database's last confirmation, and requests a
// confirmation when it gets a delivery. The caller waits for the deliveries, whose responses may be
// late.
func (s *scene) vouched(ctx context.Context, by *process, deliveries *sync.WaitGroup) error {
	hit, err := s.event("stripe", stormed)
	if err != nil {
		return err
	}
	for answers, wait := 0, 250*time.Millisecond; answers < 2 && wait <= time.Second; {
		answered := make(chan struct{})
		deliveries.Go(func() {
			defer close(answered)
			_, _ = s.deliver(ctx, by, hit, 1) // the history contains the result
		})
		select {
		case <-answered:
			answers++
		case <-time.After(wait):
			wait *= 2
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
