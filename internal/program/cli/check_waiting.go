package cli

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/schema"
)

// unserved finds waiting effects whose destination is not in this configuration, and effects that
// only a missing route could render.
func (c *checkup) unserved(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "effects_unserved"
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: schema.Name(cfg.Database.Schema)})
	var waiting []fleet.Waiting
	if err == nil {
		waiting, err = o.Fleet().Waiting(ctx)
	}
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "grant this role the right to read the tables")
		return
	}
	found := app.FindUnserved(cfg, waiting)
	for _, u := range found {
		c.add(doctor.Warning, check, u.String(), u.Fix())
	}
	if len(found) == 0 {
		c.add(doctor.OK, check, "the destination of every waiting effect is in the configuration", "")
	}
}
