package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	checksEvery = 10 * time.Minute
	// checksBudget is the time after which a run starts no further check. It leaves enough time for
	// the last check to end before minJobTimeout.
	checksBudget = minJobTimeout - agreement.Timeout - 5*time.Second
)

type checksArgs struct{}

// Kind implements river.JobArgs.
func (checksArgs) Kind() string { return kindChecks }

func (w *Worker) checks() []agreement.Check {
	if w.opts.Checks == nil {
		return nil
	}
	return w.opts.Checks()
}

// runChecks runs the configured checks in random order. If the checks take too long, it leaves the
// rest for the next run. In a fixed order, it would leave out the same checks every time.
func (w *Worker) runChecks(ctx context.Context) error {
	checks, began := slices.Clone(w.checks()), time.Now()
	rand.Shuffle(len(checks), func(i, j int) { checks[i], checks[j] = checks[j], checks[i] }) //nolint:gosec // no secret depends on it
	for i, check := range checks {
		if time.Since(began) > checksBudget {
			w.telemetry.logger.WarnContext(ctx, "checks left for the next run: they take too long together", slog.Int(logkey.Count, len(checks)-i))
			return nil
		}
		if err := w.runCheck(ctx, check); err != nil {
			return err
		}
	}
	return nil
}

// runCheck runs a check, and logs the number of rows that the check returned, but not their values:
// `hooklatch check` shows the values.
func (w *Worker) runCheck(ctx context.Context, check agreement.Check) error {
	found, err := agreement.Run(ctx, w.pool, check)
	outcome := outcomeClean
	switch refused, ok := errors.AsType[*agreement.RefusedError](err); {
	case ok:
		outcome = outcomeFailed
		w.telemetry.logger.WarnContext(ctx, "check cannot be run: `hooklatch check` says why",
			slog.String(logkey.Check, check.Name), slog.String(logkey.Reason, "SQLSTATE "+refused.Code))
	case err != nil:
		return err
	case found.Count > 0:
		outcome = outcomeFound
		w.telemetry.logger.WarnContext(ctx, "check found rows: `hooklatch check` shows them",
			slog.String(logkey.Check, check.Name), slog.Int(logkey.Count, found.Count))
	}
	w.telemetry.checks.Add(ctx, 1, metric.WithAttributes(attribute.String(attrCheck, check.Name), attribute.String(attrOutcome, outcome)))
	return nil
}
