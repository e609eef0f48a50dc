package worker

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/logkey"
)

//go:embed query/move_waiting_jobs.sql
var moveWaitingJobs string

// registerDestinations makes the destinations known to those who enqueue, and
// brings along what waits in a queue that a destination had before.
func (w *Worker) registerDestinations(ctx context.Context) error {
	registered := make([]outbox.Destination, 0, len(w.opts.Destinations))
	var names, queues []string
	for _, d := range w.opts.Destinations {
		registered = append(registered, outbox.Destination{
			Name:       d.Name,
			Kind:       d.Sender.Kind(),
			Queue:      d.Queue,
			Policy:     d.Policy,
			ConfigHash: d.ConfigHash,
		})
		names, queues = append(names, d.Name), append(queues, d.Queue)
	}
	if len(registered) == 0 {
		return nil
	}
	if err := w.outbox.RegisterDestinations(ctx, registered); err != nil {
		return err
	}
	var moved int64
	if err := w.pool.QueryRow(ctx, w.opts.Schema.SQL(moveWaitingJobs), names, queues).Scan(&moved); err != nil {
		return fmt.Errorf("move waiting jobs to their queues: %w", err)
	}
	if moved > 0 {
		w.telemetry.logger.InfoContext(ctx, "waiting effects moved to the queues of their destinations", slog.Int64(logkey.Count, moved))
	}
	return nil
}
