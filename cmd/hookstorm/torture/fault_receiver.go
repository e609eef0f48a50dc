package torture

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// receiverFaults returns an outage of all receivers, and one fault for each bad behaviour of a
// receiver. Each fault lasts for a while.
func (w *world) receiverFaults() []nemesis.Fault {
	faults := []nemesis.Fault{{Kind: "receivers_down", Lane: nemesis.Receiver, Fire: w.receiversDown}}
	for _, behaviour := range receivers.Behaviours() {
		if behaviour == receivers.OK {
			continue
		}
		faults = append(faults, nemesis.Fault{
			Kind: "receiver_" + string(behaviour), Lane: nemesis.Receiver,
			Fire: func(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
				names := receiving()
				name := names[rnd.IntN(len(names))]
				w.receivers.Behave(name, behaviour)
				defer w.receivers.Behave(name, receivers.OK)
				struck(name, string(behaviour))
				sleep(ctx, time.Second+upTo(rnd, 3*time.Second))
				return nil
			},
		})
	}
	return faults
}

// receiving returns the destinations that have a receiver.
func receiving() []string {
	var names []string
	for _, d := range scenario.Destinations() {
		if d.Kind != "sql" {
			names = append(names, d.Name)
		}
	}
	return names
}

// calmReceivers makes all receivers behave well.
func (w *world) calmReceivers() {
	for _, name := range receiving() {
		w.receivers.Behave(name, receivers.OK)
	}
}

// receiversDown makes all receivers refuse connections for a while.
func (w *world) receiversDown(ctx context.Context, rnd *rand.Rand, struck func(target, detail string)) error {
	w.receivers.Down()
	struck("receivers", "connections refused")
	sleep(ctx, time.Second+upTo(rnd, 3*time.Second))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	return w.receivers.Up(ctx)
}
