package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// partitionsEvery is the interval at which a gateway creates partitions ahead of time: it must
// store deliveries even while no worker is running.
const partitionsEvery = time.Hour

// RetentionOf returns the retention settings of a configuration.
func RetentionOf(cfg *config.Config) retention.Settings {
	s := retention.Settings{
		Dedup: make(map[identity.Source]time.Duration, len(cfg.Sources)),
		Other: max(cfg.Retention.Dedup, retention.DefaultDedup), Payloads: cfg.Retention.Payloads, History: cfg.Retention.History, Audit: cfg.Retention.Audit,
	}
	for name, source := range cfg.Sources {
		s.Dedup[identity.Source(name)] = source.Retention.Dedup
	}
	return s
}

// ExportOf returns the storage of a configuration's export, or nil if nothing is exported. Cells
// other than the main one have separate directories.
func ExportOf(cfg *config.Config) export.Storage {
	if cfg.Retention.Export == nil {
		return nil
	}
	directory := export.Directory(cfg.Retention.Export.Directory)
	if cell := cfg.Cell(); cell != config.MainCell {
		return export.Under(directory, "cell-"+cell)
	}
	return directory
}

// exported returns the storage of the export, or nil if nothing is exported. In a process without a
// worker, it also returns nil: the console of a gateway must not show exported deliveries.
func (a *App) exported() export.Storage {
	if !a.opts.Worker {
		return nil
	}
	return ExportOf(a.opts.Config)
}

// processName returns a name that is unique among running processes.
func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), uuid.NewString()[:8])
}

// stayAnnounced announces this process's retention settings to the other processes until ctx is
// done, and then withdraws the announcement. If the process has no worker, stayAnnounced also
// creates partitions ahead of time.
func (a *App) stayAnnounced(ctx context.Context) {
	process := retention.Process{Name: a.process, Kind: a.kind(), Version: a.opts.Version}
	a.minutes.Of(measure.OfTimeline, a.opts.Version, measure.Started).Add(1)
	announce := time.NewTicker(retention.AnnounceEvery)
	defer announce.Stop()
	var made time.Time
	for {
		cfg := a.config.Load()
		if hash := cfg.Hash(); hash != process.ConfigHash {
			a.minutes.Of(measure.OfTimeline, hash, measure.Configured).Add(1)
			process.ConfigHash = hash
		}
		process.Settings = RetentionOf(cfg)
		if err := a.outbox.Retention().Announce(ctx, process); err != nil && ctx.Err() == nil {
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "could not announce the retention settings of this process", slog.Any(logkey.Err, err))
		}
		if a.worker == nil && time.Since(made) >= partitionsEvery {
			if _, err := a.outbox.MakePartitions(ctx); err == nil {
				made = time.Now()
			} else if ctx.Err() == nil {
				a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "could not create the partitions of the coming days", slog.Any(logkey.Err, err))
			}
		}
		select {
		case <-announce.C:
		case <-ctx.Done():
			a.withdraw(context.WithoutCancel(ctx), process.Name)
			return
		}
	}
}

// withdraw withdraws the announcement of the process.
func (a *App) withdraw(ctx context.Context, process string) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	_ = a.outbox.Retention().Withdraw(ctx, process) // if this fails, other processes presume this one gone within two minutes
}

// kindServe is the kind of a process with a gateway and a worker.
const kindServe = "serve"

func (a *App) kind() string {
	switch {
	case a.opts.Gateway && a.opts.Worker:
		return kindServe
	case a.opts.Gateway:
		return "gateway"
	}
	return "worker"
}
