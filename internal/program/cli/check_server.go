package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/standby"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/seen"
	"github.com/hooklatch/hooklatch/schema"
)

// server finds a database that cannot store deliveries, a server that no operator has confirmed,
// and ha.synchronous on a server whose commits wait for no standby.
func (c *checkup) server(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "server"
	const cannot = "grant this role the right to read the tables"
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: schema.Name(cfg.Database.Schema)})
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), cannot)
		return
	}
	c.storing(ctx, o)
	state, err := o.Repair().State(ctx)
	switch {
	case err != nil:
		c.add(doctor.Problem, check, err.Error(), cannot)
	case state.Withheld:
		c.add(doctor.Problem, check, fmt.Sprintf("at_most_once effects are withheld: the database is on %s, and the confirmed server is %s", state.Here, state.Known),
			"confirm the server: run `hooklatch repair --restored-to TIME` after a restore, or `hooklatch repair --promoted` if nothing is missing")
	default:
		c.add(doctor.OK, check, "this server is confirmed: at_most_once effects start", "")
	}
	if !cfg.HA.Synchronous {
		return
	}
	var standbys string
	if err := pool.QueryRow(ctx, "SHOW synchronous_standby_names").Scan(&standbys); err == nil && standbys == "" {
		c.add(doctor.Warning, check, "ha.synchronous says that commits wait for a standby, but they do not: a promoted standby may lack completed effects, and workers would repeat at_most_once effects", "set synchronous_standby_names, or remove ha.synchronous")
	}
}

// bypassed checks whether database.url can be used, if direct_url bypasses it. The other checks use
// direct_url, as commands do, but processes accept deliveries through database.url.
func (c *checkup) bypassed(ctx context.Context, direct *pgxpool.Pool, cfg *config.Config) {
	const check = "url"
	if cfg.Database.DirectURL.IsZero() || !c.overridingDatabase(cfg).IsZero() {
		return
	}
	pool, err := app.NewPool(ctx, app.PoolOptions{URL: cfg.Database.URL, MaxConns: 1, ApplicationName: "hooklatch-cli", Pooled: true})
	if err == nil {
		defer pool.Close()
		err = doctor.SameDatabase(ctx, pool, direct, schema.Name(cfg.Database.Schema))
	}
	if err != nil {
		c.add(doctor.Problem, check, "database.url cannot be used: "+err.Error(), "correct database.url: deliveries are accepted through it, and answered with 503 until it works")
		return
	}
	at := pool.Config().ConnConfig
	c.add(doctor.OK, check, fmt.Sprintf("%s:%d/%s of database.url leads to the same database as direct_url", at.Host, at.Port, at.Database), "")
}

// standby reports whether the standby at database.read_url can be used.
func (c *checkup) standby(ctx context.Context, primary *pgxpool.Pool, cfg *config.Config) {
	const check = "read_url"
	if cfg.Database.ReadURL.IsZero() || !c.overridingDatabase(cfg).IsZero() {
		return
	}
	follower, err := app.NewPool(ctx, app.PoolOptions{URL: cfg.Database.ReadURL, MaxConns: 1, ApplicationName: "hooklatch-cli", ReadOnly: true})
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "correct database.read_url")
		return
	}
	defer follower.Close()
	reads, err := standby.New(primary, follower, schema.Name(cfg.Database.Schema))
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "correct database.schema")
		return
	}
	state := reads.Look(ctx)
	switch {
	case state.Usable():
		c.add(doctor.OK, check, state.String(), "")
	case state.Cause != nil:
		c.add(doctor.Warning, check, fmt.Sprintf("%s %s", state, state.Cause), "start the standby, or correct database.read_url")
	default:
		c.add(doctor.Warning, check, state.String(), "set database.read_url to a standby of this database that keeps up")
	}
}

// seenCache finds a Redis server that is slow or cannot be used. Both are only warnings, because
// the gateway accepts events without Redis.
func (c *checkup) seenCache(ctx context.Context) {
	const check = "seen_cache"
	if c.configuredBy == nil || c.configuredBy.Gateway.SeenCache == nil {
		return
	}
	cache := c.configuredBy.Gateway.SeenCache
	switch took, err := seen.Try(ctx, cache.Redis); {
	case err != nil:
		c.add(doctor.Warning, check, "duplicates are looked up in the database: "+err.Error(), "start Redis, or correct gateway.seen_cache.redis")
	case took > 2*seen.Patience:
		c.add(doctor.Warning, check, fmt.Sprintf("Redis needs %s for a read; after %s gateways look in the database instead", (took/2).Round(time.Microsecond), seen.Patience),
			"use a Redis server that is closer to the gateways, or remove gateway.seen_cache")
	default:
		c.add(doctor.OK, check, fmt.Sprintf("Redis stores a value and returns it in %s", took.Round(time.Microsecond)), "")
	}
}

// storing finds a database that cannot store a delivery, for example because its disk is full.
// Other checks report a read-only server, and a role that may not write.
func (c *checkup) storing(ctx context.Context, o *outbox.Outbox) {
	const check = "storing"
	err := o.CanStore(ctx)
	switch {
	case err == nil:
		c.add(doctor.OK, check, "a delivery can be stored (the test was rolled back)", "")
	case sqlstate.Demoted(err), sqlstate.Is(err, sqlstate.InsufficientPrivilege):
	default:
		c.add(doctor.Problem, check, err.Error(), "check the disk and the log of Postgres: until deliveries can be stored, they are answered with 503 and senders retry")
	}
}
