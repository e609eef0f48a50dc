package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/worker/route"
)

// maxLimit is the maximum length of a list.
const maxLimit = 10_000

func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 50, fmt.Sprintf("list at most this many, up to %d", maxLimit))
}

// cut returns at most limit rows. If rows has more, cut prints a note to stderr. Callers request
// one row more than limit.
func cut[Row any](c *cli, rows []Row, limit int) []Row {
	if len(rows) <= limit {
		return rows
	}
	fmt.Fprintf(c.Stderr, "there are more than %d; list more with --limit, up to %d\n", limit, maxLimit)
	return rows[:limit]
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxLimit {
		return misused("--limit %d: allowed are 1 to %d", limit, maxLimit)
	}
	return nil
}

// list contains the flags that event and effect lists have in addition to the flags of their
// selection.
type list struct {
	cursor string
	limit  int
	follow bool
}

func (l *list) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.cursor, "cursor", "", "continue from this `cursor`, which an earlier list printed")
	cmd.Flags().BoolVar(&l.follow, "follow", false, "wait for new rows and print them as they arrive")
	limitFlag(cmd, &l.limit)
}

func (l *list) check(cmd *cobra.Command, asked find.Span) error {
	if l.follow && (l.cursor != "" || cmd.Flags().Changed("limit") || asked != find.Span{}) {
		return misused("--follow waits for new rows: omit --cursor, --limit, --since and --until")
	}
	return checkLimit(l.limit)
}

// finder returns a Finder that evaluates conditions.
func finder(o *outbox.Outbox) *find.Finder { return o.Finder().With(route.CompileCondition) }

// asking returns the next page of a list.
type asking[Row any] func(ctx context.Context, from find.Cursor, limit int) (find.Page[Row], error)

// pages reads pages until it has limit rows or no page is left. Even with an error, it returns the
// rows that it found, and the position at which to continue.
func pages[Row any](ctx context.Context, c *cli, from find.Cursor, limit int, ask asking[Row]) (find.Page[Row], error) {
	all := find.Page[Row]{Next: from, More: true}
	progress := c.eachSecond()
	for all.More && len(all.Rows) < limit {
		page, err := ask(ctx, all.Next, limit-len(all.Rows))
		if err != nil {
			return all, ofCursor(err)
		}
		all.Rows, all.Cursors = append(all.Rows, page.Rows...), append(all.Cursors, page.Cursors...)
		all.More, all.Next = page.More, page.Next
		all.Looked += page.Looked
		if !page.Back.IsZero() {
			all.Back = page.Back
		}
		all.Unclear += page.Unclear
		all.WhyUnclear = cmp.Or(all.WhyUnclear, page.WhyUnclear)
		all.Bodiless += page.Bodiless
		progress("%d found; searched %d, back to %s\n", len(all.Rows), all.Looked, shown(all.Back))
	}
	return all, nil
}

// ofCursor converts the error about an invalid cursor, or a cursor of another list, into the error
// for a mistake in the command line. It returns any other error unchanged.
func ofCursor(err error) error {
	if errors.Is(err, find.ErrCursor) {
		return misused("--cursor: %s", err)
	}
	return err
}

// printRest prints to stderr how many rows a list left out and why, and the command that continues
// the list.
func printRest[Row any](c *cli, cmd *cobra.Command, p find.Page[Row]) {
	if p.Unclear > 0 {
		fmt.Fprintf(c.Stderr, "%d left out: --when failed; first error: %s\n", p.Unclear, safetext.Shown(inWords(p.WhyUnclear)))
	}
	if p.Bodiless > 0 {
		fmt.Fprintf(c.Stderr, "%d left out: body no longer stored\n", p.Bodiless)
	}
	if p.More && p.Looked > 0 {
		fmt.Fprintf(c.Stderr, "searched %d, back to %s; continue with:\n  %s\n", p.Looked, shown(p.Back), commandFrom(cmd, p.Next))
	}
}

// commandFrom returns the command line that continues a list at a cursor.
func commandFrom(cmd *cobra.Command, at find.Cursor) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "cursor" {
			words = append(words, flagWords(f)...)
		}
	})
	words = append(words, "--cursor "+safetext.Shell(string(at)))
	if args := cmd.Flags().Args(); len(args) > 0 {
		words = append(words, safetext.Operands(args...))
	}
	return strings.Join(words, " ")
}

// flagWords returns a flag as words of a command line.
func flagWords(f *pflag.Flag) []string {
	value := f.Value.String()
	switch {
	case f.Name == "database-url":
		value, _ = withoutPasswords(value)
	case f.Value.Type() == "bool" && value == "true":
		return []string{"--" + f.Name}
	case f.Value.Type() == "bool": // its value cannot be a separate word
		return []string{"--" + f.Name + "=" + value}
	case f.Value.Type() == "stringSlice": // String adds brackets
		value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	}
	return []string{"--" + f.Name, safetext.Shell(value)}
}

// followInterval is the time between two queries of --follow.
const followInterval = time.Second

// follow prints new rows until ctx is done, which is not an error.
func follow[Row any](ctx context.Context, c *cli, tail *find.Tail[Row], line func(Row) string) error {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		rows, err := tail.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range rows {
			if c.asJSON {
				err = printLine(c.Stdout, row)
			} else {
				_, err = fmt.Fprintln(c.Stdout, line(row))
			}
			if err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
