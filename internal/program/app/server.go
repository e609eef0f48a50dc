package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/schema"
)

// checkServer returns an error if the database is unavailable or breaks a guarantee. database.url
// and database.direct_url must lead to one database, advisory locks must work, and a pooler must
// not break LISTEN. A gateway must not answer 2xx for deliveries that the server may lose, unless
// the configuration allows it. checkServer logs other findings as warnings.
func (a *App) checkServer(ctx context.Context) error {
	cfg := a.opts.Config
	if !cfg.Database.DirectURL.IsZero() {
		err := doctor.SameDatabase(ctx, a.pools.work, a.pools.direct, schema.Name(cfg.Database.Schema))
		if elsewhere, is := errors.AsType[*doctor.ElsewhereError](err); is {
			return cfg.Problem("database.direct_url", "database.url and database.direct_url must lead to one database: "+elsewhere.Error())
		}
		if err != nil && sqlstate.Away(err) {
			return err
		}
	}
	between, err := doctor.Pooler(ctx, a.pools.direct)
	if err == nil && between.Level == doctor.Problem && cfg.Database.Listens() {
		return cfg.Problem("database", between.Message+"; "+between.Fix)
	}
	var found []doctor.Finding
	if err == nil {
		found, err = doctor.Server(ctx, a.pools.direct, doctor.ServerOptions{
			Schema: schema.Name(cfg.Database.Schema), AllowFsyncOff: cfg.Database.AllowsFsyncOff(),
		})
	}
	var locks doctor.Finding
	if err == nil {
		locks, err = doctor.Locks(ctx, a.pools.direct)
	}
	if err != nil {
		if sqlstate.Away(err) {
			return err
		}
		a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the settings of the server cannot be read", slog.Any(logkey.Err, err))
		return nil
	}
	if locks.Level == doctor.Problem {
		return cfg.Problem("database", locks.Message+"; "+locks.Fix)
	}
	if cfg.Database.Listens() {
		found = append(found, between)
	}
	for _, f := range found {
		switch {
		case f.Level == doctor.Problem && f.Check == doctor.CheckFsync && a.opts.Gateway:
			return cfg.Problem("database", f.Message+"; "+f.Fix+", or set allow: ["+config.AllowFsyncOff+"] if you accept that")
		case f.Level != doctor.OK:
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, f.Message+"; "+f.Fix)
		}
	}
	return nil
}
