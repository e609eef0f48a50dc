package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

const (
	// progressEvery is the interval at which the parts are checked.
	progressEvery = time.Second
	// acceptSlack is the time beyond gateway.accept_timeout after which the gateway counts as
	// stalled, if deliveries are in progress and none has finished meanwhile. It allows for
	// verification, fetching a key, and a busy machine.
	acceptSlack = 10 * time.Second
	// runSlack is the corresponding time beyond the worker's longest run, for dispatches and
	// attempts.
	runSlack = 15 * time.Second
)

// part is a part of the process that works on one or more items at a time.
type part struct {
	name string
	// progress returns the number of items in progress, and the number of items finished since the
	// start.
	progress func() (underway, ended int64)
	// patience is the maximum time that items may be in progress without any item finishing.
	patience time.Duration

	ended int64
	still int // consecutive checks with items in progress and none finished
}

// look compares a part with the previous check. It counts checks instead of measuring time, so that
// an hour of machine sleep does not count as a stall.
func (p *part) look() {
	underway, ended := p.progress()
	if underway == 0 || ended != p.ended {
		p.ended, p.still = ended, 0
		return
	}
	p.still++
}

// stalled returns an error if the part has had items in progress for at least the time patience,
// and has finished none of them.
func (p *part) stalled() error {
	if p.still < int(p.patience/progressEvery) {
		return nil
	}
	underway, _ := p.progress()
	return fmt.Errorf("the %s makes no progress: %d in progress, and none has finished for %s", p.name, underway, time.Duration(p.still)*progressEvery)
}

// progress finds parts that make no progress. A part without work counts as healthy.
type progress struct {
	mu    sync.Mutex
	parts []*part
}

func (p *progress) watch(name string, patience time.Duration, of func() (underway, ended int64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts = append(p.parts, &part{name: name, progress: of, patience: patience})
}

func (p *progress) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.parts {
		one.look()
	}
}

// stalled returns the joined errors of all stalled parts.
func (p *progress) stalled() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, one := range p.parts {
		errs = append(errs, one.stalled())
	}
	return errors.Join(errs...)
}

// watchProgress checks the parts until ctx is done. It notifies the service manager's watchdog
// while the process is healthy, and logs when parts stall or resume.
func (a *App) watchProgress(ctx context.Context) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	stalled := false
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		a.progress.look()
		err := a.progress.stalled()
		if err == nil && a.Alive() == nil {
			a.tell(daemon.SdNotifyWatchdog, "")
		}
		switch {
		case err != nil && !stalled:
			stalled = true
			a.tell("", err.Error())
			a.opts.Logger.LogAttrs(ctx, slog.LevelError, "no progress", slog.Any(logkey.Err, err))
		case err == nil && stalled:
			stalled = false
			a.tell("", "ready")
			a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "progress again")
		}
	}
}

// troubles returns the errors of the log streams, and a sentence about each unavailable cell.
// Neither makes the process unready. The process can work without a log, and one slow log reader
// must not make all processes that write to it unready. About cells, see readyCells.
func (a *App) troubles() (troubles []string) {
	for _, q := range a.opts.Outputs {
		if err := q.Trouble(); err != nil {
			troubles = append(troubles, err.Error())
		}
	}
	if away := a.away.Load(); away != nil {
		troubles = append(troubles, *away...)
	}
	return troubles
}

// meterName is the scope of the metrics of package app. It must not change: dashboards may select
// metrics by scope.
const meterName = "github.com/hooklatch/hooklatch/cmd/hooklatch/app"

// countOutputs registers the metrics of the output streams: dropped lines and the size of the
// lines that wait.
func (a *App) countOutputs() error {
	meter := a.telemetry.MeterProvider.Meter(meterName)
	dropped, err := meter.Int64ObservableCounter("hooklatch.log.dropped", metric.WithUnit("{line}"),
		metric.WithDescription("Log lines that were dropped, by stream, because the reader was too slow or had closed the stream."))
	if err != nil {
		return fmt.Errorf("metric of dropped log lines: %w", err)
	}
	waiting, err := meter.Int64ObservableGauge("hooklatch.log.waiting", metric.WithUnit("By"),
		metric.WithDescription("Size of the log lines that wait to be written, by stream."))
	if err != nil {
		return fmt.Errorf("metric of waiting log lines: %w", err)
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, q := range a.opts.Outputs {
			stream := metric.WithAttributes(attribute.String("stream", q.Name()))
			o.ObserveInt64(dropped, q.Dropped(), stream)
			o.ObserveInt64(waiting, q.Waiting(), stream)
		}
		return nil
	}, dropped, waiting)
	if err != nil {
		return fmt.Errorf("metrics of the log: %w", err)
	}
	return nil
}
