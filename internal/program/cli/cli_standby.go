package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/standby"
	"github.com/hooklatch/hooklatch/outbox"
)

// showDatabase is like withDatabase, for commands that only show what is stored. They read from the
// configured standby while it is usable, and print the age of the data to stderr. If the command
// fails on the standby before it has printed anything, it runs again on the primary.
func (c *cli) showDatabase(ctx context.Context, f func(database) error) error {
	return c.withDatabase(ctx, func(d database) error {
		given := d.config.Database
		if given.ReadURL.IsZero() || !c.overridingDatabase(d.config).IsZero() {
			return f(d)
		}
		pool, err := app.NewPool(ctx, app.PoolOptions{URL: given.ReadURL, MaxConns: connsOfCommand, ApplicationName: "hooklatch-cli", ReadOnly: true})
		if err != nil {
			return err
		}
		defer pool.Close()
		reads, err := standby.New(d.pool, pool, d.schema)
		if err != nil {
			return err
		}
		state := reads.Look(ctx)
		if state.Usable() {
			shown := d
			shown.pool = pool
			if shown.outbox, err = outbox.New(outbox.Options{Pool: pool, Schema: d.schema, Export: app.ExportOf(d.config)}); err != nil {
				return err
			}
			counted := &countedWriter{Writer: c.Stdout}
			c.Stdout = counted
			err := f(shown)
			c.Stdout = counted.Writer
			if err == nil || counted.bytes > 0 || ctx.Err() != nil {
				fmt.Fprintln(c.Stderr, state)
				return err
			}
			state = standby.State{Refused: "the standby could not answer"}
		}
		fmt.Fprintln(c.Stderr, state)
		return f(d)
	})
}

// countedWriter counts the bytes that are written to it.
type countedWriter struct {
	io.Writer

	bytes int
}

// Write implements io.Writer.
func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.bytes += n
	return n, err
}
