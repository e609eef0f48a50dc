package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// finding is one invocation of the find command.
type finding struct {
	*cli

	cmd    *cobra.Command
	asked  lookup.Asked
	cursor string
	limit  int
	exact  bool // payloads are not searched
}

func (c *cli) newFind() *cobra.Command {
	f := finding{cli: c}
	var source string
	cmd := &cobra.Command{
		Use:   "find TEXT",
		Short: "Find what an id, a key, a name, a URL or any text belongs to",
		Long: `Find the events, effects, runs, deliveries, sources, destinations and routes that TEXT
names. TEXT may be an event id, SOURCE/EVENT_ID, an effect key as it was sent, a run's
number, a delivery id, a name, the URL of a console page, or a value that a source's
search setting selects. These matches are printed first.

The command then searches payloads for the text, from the newest event back, and prints
events as it finds them. The search is case-sensitive. For rare texts the search takes a
while: stderr shows its progress, and an interrupt prints the command that continues it.

With --json each result is one line.`,
		Example: "  " + c.Name + ` find jane@example.com
  ` + c.Name + ` find --source stripe in_1OzKqE2eZvKYlo2C
  ` + c.Name + ` find --exact hl_526e2c6dcc29140bc64a05efabf4252a1829f177`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.cmd, f.asked = cmd, lookup.Asked{Text: args[0], Source: identity.Source(source)}
			if err := f.asked.Validate(); err != nil {
				return misused("%s", err)
			}
			if f.exact && f.cursor != "" {
				return misused("--exact searches no payloads: omit --cursor")
			}
			if err := checkLimit(f.limit); err != nil {
				return err
			}
			return c.showDatabase(cmd.Context(), func(d database) error { return f.run(cmd.Context(), d) })
		},
	}
	c.database.register(cmd.Flags())
	cmd.Flags().StringVar(&source, "source", "", "only events of this `source`")
	cmd.Flags().BoolVar(&f.exact, "exact", false, "do not search payloads")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "continue the search in payloads from this `cursor`, which an earlier search printed")
	limitFlag(cmd, &f.limit)
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (f *finding) run(ctx context.Context, d database) error {
	found := 0
	if f.cursor == "" {
		refused, err := quarantine.New(quarantine.Options{Pool: d.pool, Schema: d.schema, Ledger: d.outbox.Ledger()})
		if err != nil {
			return err
		}
		l := lookup.New(lookup.Options{Outbox: d.outbox, Quarantine: refused, Names: func() lookup.Names { return namesIn(d.config) }})
		f.asked.Values = l.Indexed(f.asked.Source)
		hits, unread, err := l.Find(ctx, f.asked)
		if err != nil {
			return err
		}
		if len(unread) > 0 {
			fmt.Fprintln(f.Stderr, lookup.NotSearched(unread))
		}
		found = len(hits)
		for _, h := range hits {
			if err := f.print(h); err != nil {
				return err
			}
		}
		if found >= lookup.MaxHits {
			fmt.Fprintf(f.Stderr, "at most the newest %d matches of each kind are printed\n", lookup.MaxHits)
		}
	}
	if f.exact {
		if found == 0 && !f.asJSON {
			_, err := fmt.Fprintln(f.Stdout, "nothing has this id, key or name")
			return err
		}
		return nil
	}
	return f.search(ctx, d.outbox, max(f.limit-found, 1))
}

// search prints up to limit events whose payload contains the text. It then prints the commands
// that list the same events and that continue the search.
func (f *finding) search(ctx context.Context, o *outbox.Outbox, limit int) error {
	filter := f.asked.Payloads()
	found, err := pages(ctx, f.cli, find.Cursor(f.cursor), limit, func(ctx context.Context, from find.Cursor, limit int) (find.Page[*inbox.Event], error) {
		page, err := finder(o).Events(ctx, filter, from, limit)
		for _, e := range page.Rows {
			if err := f.print(lookup.OfEvent(lookup.ByPayload, e)); err != nil {
				return page, err
			}
		}
		return page, err
	})
	if _, misuse := errors.AsType[*usageError](err); misuse {
		return err
	}
	source := ""
	if filter.Source != "" {
		source = " --source " + safetext.Shell(string(filter.Source))
	}
	fmt.Fprintf(f.Stderr, "%s whose payload contains the text; the same search as a list:\n  %s\n",
		counted(len(found.Rows), "event"), f.command("events list"+source+" --contains "+safetext.Shell(filter.Contains)))
	printRest(f.cli, f.cmd, found)
	return err
}

// print prints one result as soon as it is found. Therefore the columns of the results are not
// aligned.
func (f *finding) print(h lookup.Hit) error {
	if f.asJSON {
		return printLine(f.Stdout, h)
	}
	cells := []string{string(h.By), h.Name}
	for _, more := range []string{h.State, h.About} {
		if more != "" {
			cells = append(cells, more)
		}
	}
	if !h.At.IsZero() {
		cells = append(cells, shown(h.At))
	}
	_, err := fmt.Fprintln(f.Stdout, lineOf(cells))
	return err
}

func namesIn(cfg *config.Config) lookup.Names {
	names := lookup.Names{Sources: slices.Sorted(maps.Keys(cfg.Sources)), Destinations: slices.Sorted(maps.Keys(cfg.Destinations))}
	for _, name := range names.Sources {
		if len(cfg.Sources[name].Search) > 0 {
			names.Searched = append(names.Searched, name)
		}
	}
	for _, r := range cfg.Routes {
		names.Routes = append(names.Routes, r.Name)
	}
	return names
}
