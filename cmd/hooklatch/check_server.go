package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema"
)

// server finds that the database is on a server that nobody has spoken of, and that a
// standby is trusted which may lack something.
func (c *checkup) server(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "server"
	const cannot = "give this role the right to read the tables"
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
		c.add(doctor.Problem, check, fmt.Sprintf("at_most_once effects are withheld: the database is on %s, and what was done is known on %s", state.Here, state.Known),
			"say what happened: `hooklatch repair --restored-to TIME`, or `hooklatch repair --promoted` if nothing is missing")
	default:
		c.add(doctor.OK, check, "it is known on this server what was done", "")
	}
	if !cfg.HA.Synchronous {
		return
	}
	var standbys string
	if err := pool.QueryRow(ctx, "SHOW synchronous_standby_names").Scan(&standbys); err == nil && standbys == "" {
		c.add(doctor.Warning, check, "ha.synchronous says that commits wait for a standby, and they do not: one that is promoted may lack what was done, "+
			"and at_most_once effects would be done again", "set synchronous_standby_names, or leave out ha.synchronous")
	}
}

// storing finds a database that cannot store a delivery, such as one whose disk is full. A
// role that may only read, and a server that is read-only, have findings of their own.
func (c *checkup) storing(ctx context.Context, o *outbox.Outbox) {
	const check = "storing"
	err := o.CanStore(ctx)
	switch {
	case err == nil:
		c.add(doctor.OK, check, "a delivery can be stored (it was rolled back)", "")
	case sqlstate.Is(err, sqlstate.ReadOnly), sqlstate.Is(err, sqlstate.InsufficientPrivilege):
	default:
		c.add(doctor.Problem, check, err.Error(), "look at the disk and the log of Postgres: deliveries are answered 503 meanwhile, and their senders try again")
	}
}
