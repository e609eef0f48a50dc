package cli

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema"
)

// retention finds deletions that have stopped until an operator confirms them.
func (c *checkup) retention(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "retention"
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: schema.Name(cfg.Database.Schema)})
	var progress []retention.Progress
	if err == nil {
		progress, err = o.Retention().Progress(ctx)
	}
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "grant this role the right to read the tables")
		return
	}
	waits := false
	for _, p := range progress {
		if p.StoppedSince.IsZero() {
			continue
		}
		waits = true
		name := partName(retention.Part{What: p.What, Source: p.Source})
		c.add(doctor.Warning, check,
			fmt.Sprintf("deletion stopped at %s: the next run would delete all %s before %s at once, and the last run reached %s",
				shown(p.StoppedSince), name, shown(p.StoppedAt), shown(p.Horizon)),
			fmt.Sprintf("if the database's clock is right and the setting is intended, run: %s", c.command("retention run --yes")))
	}
	if !waits {
		c.add(doctor.OK, check, "retention does not wait for an operator", "")
	}
}
