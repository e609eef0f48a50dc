package torture

import (
	"context"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
)

// completion matches the statement by which River completes jobs. If the statement or its response
// is lost, the jobs' work must not be repeated.
var completion = regexp.MustCompile(`\bJobSetStateIfRunningMany\b`)

// networkFaults returns the faults of connections to the server.
func (w *world) networkFaults() []nemesis.Fault {
	atStatement := map[string]pgproxy.Fault{
		"commit_answer_lost":     {Kind: pgproxy.LoseAnswer},
		"commit_request_lost":    {Kind: pgproxy.LoseRequest},
		"commit_answer_hangs":    {Kind: pgproxy.HangAnswer},
		"commit_answer_is_57P01": {Kind: pgproxy.Terminate},
		"commit_answer_delayed":  {Kind: pgproxy.DelayAnswer, Delay: 700 * time.Millisecond},
		"commit_request_delayed": {Kind: pgproxy.DelayRequest, Delay: 700 * time.Millisecond},
		"river_completion_lost":  {Kind: pgproxy.LoseAnswer, Match: completion},
		"river_completion_hangs": {Kind: pgproxy.HangAnswer, Match: completion},
	}
	onLine := map[string]pgproxy.Fault{
		"partition_of_requests": {Kind: pgproxy.PartitionRequests},
		"partition_of_answers":  {Kind: pgproxy.PartitionAnswers},
		"partition":             {Kind: pgproxy.Partition},
		"latency":               {Kind: pgproxy.Latency, Delay: 40 * time.Millisecond},
		"slow_bytes":            {Kind: pgproxy.SlowBytes, Bytes: 200, Delay: 5 * time.Millisecond},
		"connections_refused":   {Kind: pgproxy.Refuse},
		"pool_exhausted":        {Kind: pgproxy.Cap, Connections: 4},
	}
	faults := []nemesis.Fault{{Kind: "connections_cut", Lane: nemesis.Network, Fire: w.cutConnections}}
	for kind, fault := range atStatement {
		faults = append(faults, nemesis.Fault{Kind: kind, Lane: nemesis.Network, Fire: w.onProxy(fault, 1+8)})
	}
	for kind, fault := range onLine {
		faults = append(faults, nemesis.Fault{Kind: kind, Lane: nemesis.Network, Fire: w.onProxy(fault, 0)})
	}
	return sortedByKind(faults)
}

// onProxy returns a function that injects a fault of the proxy for one process or for all. The
// fault ends after a random time, or earlier after a random number of strikes, at most count. With
// count 0, strikes do not end the fault.
func (w *world) onProxy(fault pgproxy.Fault, count int) fire {
	return func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
		fault := fault // a copy, because every call sets its own target
		target := "all processes"
		if rnd.IntN(3) > 0 {
			target = w.one(rnd, roleGateway, roleWorker, roleApplication).line
			fault.Who.Listener = target
		}
		if count > 0 {
			fault.Count = 1 + rnd.IntN(count)
		}
		d := 500*time.Millisecond + upTo(rnd, 3*time.Second)
		armed, err := w.proxy.Arm(fault)
		if err != nil {
			return err
		}
		defer armed.Disarm()
		if fault.Kind == pgproxy.Cap {
			w.proxy.Cut(fault.Who) // the limit applies to new connections
		}
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		tell := func(firing pgproxy.Firing) { struck(target, firing.Application+" "+firing.Answer) }
		for {
			select {
			case firing := <-armed.Fired():
				tell(firing)
				continue
			case <-armed.Done():
			case <-ctx.Done():
			}
			// When the fault ends, its last strike may still be in the channel.
			select {
			case firing := <-armed.Fired():
				tell(firing)
			default:
			}
			return nil
		}
	}
}

// cutConnections resets the open connections of one process or of all.
func (w *world) cutConnections(_ context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	who := pgproxy.Who{}
	if rnd.IntN(2) > 0 {
		who.Listener = w.one(rnd, roleGateway, roleWorker, roleApplication).line
	}
	if w.proxy.Cut(who) > 0 {
		struck(who.Listener, "reset")
	}
	return nil
}
