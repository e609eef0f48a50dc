package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema"
)

// storageTimeout limits the test of the export's storage. A network file system may hang.
const storageTimeout = 30 * time.Second

// export tests whether the storage of the export can be used, and finds days whose export fails.
func (c *checkup) export(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "export"
	storage := app.ExportOf(cfg)
	if storage == nil {
		return
	}
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: schema.Name(cfg.Database.Schema), Export: storage})
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "")
		return
	}
	probing, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	if err := o.Export().Probe(probing); err != nil {
		c.add(doctor.Problem, check, fmt.Sprintf("%s cannot be used: %s", storage, err), "give every worker the right to write, read and delete there; until then retention deletes nothing")
		return
	}
	days, err := o.Export().Days(ctx)
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "grant this role the right to read the tables")
		return
	}
	failed := false
	for _, d := range days {
		if !d.FailedSince.IsZero() {
			failed = true
			c.add(doctor.Warning, check, fmt.Sprintf("the export of %s has failed since %s: %s", d.Name(), shown(d.FailedSince), d.Error),
				"remove the cause; retention tries again every hour, or run: "+c.command("retention run"))
		}
	}
	if !failed {
		c.add(doctor.OK, check, fmt.Sprintf("a test file was written to %s, read and deleted; %s exported", storage, counted(len(days), "day")), "")
	}
}
