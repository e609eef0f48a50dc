package cli

import (
	"context"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/engine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// engine tests whether a server has the capabilities that Hooklatch needs. It needs no
// configuration.
func (c *checkup) engine(ctx context.Context, url string) {
	c.warnOfPassword("--engine", url, "set PGPASSWORD or PGPASSFILE instead")
	// Pooled is set because the session may belong to a pooler, which shares it between clients.
	pool, err := app.NewPool(ctx, app.PoolOptions{URL: secret.New(url), MaxConns: connsOfCommand, ApplicationName: "hooklatch-cli", Pooled: true})
	if err != nil {
		c.add(doctor.Problem, "database", err.Error(), "correct the URL of --engine")
		return
	}
	defer pool.Close()
	found, err := engine.Check(ctx, pool)
	c.findings = append(c.findings, found...)
	if err != nil {
		c.add(doctor.Problem, "database", err.Error(), "correct what the error names, then run the check again")
	}
}
