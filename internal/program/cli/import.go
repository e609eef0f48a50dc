package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func (c *cli) newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Import the event ids of another system",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newImportKeys())
	return cmd
}

func (c *cli) newImportKeys() *cobra.Command {
	var by operatorFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "keys SOURCE FILE",
		Short: "Import ids of events that another system accepted",
		Long: `Import into SOURCE the ids of events that another system accepted, so that a redelivery
of such an event is recognised as a duplicate. Imported events have no body and no
effects, and cannot be replayed. Stored events are not changed, so an import can be
repeated.

FILE is CSV with the columns event_id and received_at, and may begin with a header of
these names; - is standard input. event_id is the id that Hooklatch would use: see the
provider's page in the documentation. received_at is a time such as
2026-11-21T08:00:00Z, or seconds since 1970. The retention of an imported event counts
from received_at.

Without --yes the file is only read and checked.`,
		Example: "  " + c.Name + " import keys stripe known.csv --yes",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadForDatabase()
			if err != nil {
				return err
			}
			// Without a configuration, the sources are unknown.
			if source := args[0]; cfg.Path() != "" {
				if _, err := sourceOf(cfg, source); err != nil {
					return err
				}
			}
			keys, err := c.readKeys(args[1], time.Now())
			if err != nil {
				return err
			}
			if !yes {
				fmt.Fprintf(c.Stdout, "%s of %s\n", counted(len(keys), "key"), args[0])
				if len(keys) > 0 {
					fmt.Fprintln(c.Stdout, "import them with the same command and --yes")
				}
				return nil
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if err := storedHere(cmd.Context(), o, cfg, args[0]); err != nil {
					return err
				}
				return c.importKeys(cmd.Context(), o, identity.Source(args[0]), keys, by)
			})
		},
	}
	by.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "import the keys; without this flag the file is only checked")
	return cmd
}

func (c *cli) importKeys(ctx context.Context, o *outbox.Outbox, source identity.Source, keys []inbox.ImportedKey, by operatorFlags) error {
	progress := c.eachSecond()
	done, err := o.Inbox().ImportKeys(ctx, source, keys, by.operator(), func(p inbox.ImportProgress) {
		progress("%d of %s\n", p.Done, counted(len(keys), "key"))
	})
	known, were := done.Done-int(done.New), "were"
	if known == 1 {
		were = "was"
	}
	fmt.Fprintf(c.Stdout, "%s imported, %d %s already stored\n", counted(int(done.New), "key"), known, were)
	if err != nil && done.Done < len(keys) {
		fmt.Fprintf(c.Stderr, "stopped after %d of %s; run the same command again to import the rest\n", done.Done, counted(len(keys), "key"))
	}
	return err
}

// keyColumns is the optional header of a key file.
var keyColumns = []string{"event_id", "received_at"}

// withoutMark returns a reader of a text file without its byte order mark, which some programs
// write at the beginning.
func withoutMark(file io.Reader) io.Reader {
	const mark = "\ufeff"
	r := bufio.NewReader(file)
	if first, _ := r.Peek(len(mark)); string(first) == mark { // a file that is shorter than the mark has none; a later Read returns other errors
		_, _ = r.Discard(len(mark))
	}
	return r
}

// readKeys parses a key file. An error about a line contains the line number.
func (c *cli) readKeys(path string, now time.Time) ([]inbox.ImportedKey, error) {
	from := c.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	reader := csv.NewReader(withoutMark(from))
	reader.FieldsPerRecord, reader.ReuseRecord = len(keyColumns), true
	var keys []inbox.ImportedKey
	for first := true; ; first = false {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read keys: %w", err)
		}
		if first && strings.EqualFold(record[0], keyColumns[0]) && strings.EqualFold(record[1], keyColumns[1]) {
			continue
		}
		key, err := keyOf(record, now)
		if err != nil {
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("read keys: line %d: %w", line, err)
		}
		keys = append(keys, key)
	}
}
