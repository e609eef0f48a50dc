package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

func (c *cli) newQuarantine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "List, show, retry and drop refused deliveries",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newQuarantineList(), c.newQuarantineShow(), c.newQuarantineRetry(), c.newQuarantineDrop())
	return cmd
}

// quarantineFlags select refused deliveries.
type quarantineFlags struct{ source, reason string }

func (f *quarantineFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.source, "source", "", "only deliveries to this `source`")
	cmd.Flags().StringVar(&f.reason, "refused-for", "", "only deliveries refused for this `reason`, such as wrong_signature")
}

func (f *quarantineFlags) filter() quarantine.Filter {
	return quarantine.Filter{Source: identity.Source(f.source), Reason: f.reason}
}

// selected returns a command's filter: the delivery in its argument, or the selection by its flags.
func (f *quarantineFlags) selected(args []string) (quarantine.Filter, error) {
	filter := f.filter()
	if len(args) == 0 {
		return filter, nil
	}
	if filter != (quarantine.Filter{}) {
		return filter, misused("a delivery and a selection by flags exclude each other")
	}
	var err error
	filter.ID, err = deliveryID(args[0])
	return filter, err
}

func deliveryID(given string) (uuid.UUID, error) {
	id, err := uuid.Parse(given)
	if err != nil {
		return id, misused("%q is not the id of a delivery: quarantine list shows the ids", given)
	}
	return id, nil
}

// withQuarantine runs f with the outbox and the quarantine of the database.
func (c *cli) withQuarantine(cmd *cobra.Command, f func(*outbox.Outbox, *quarantine.Quarantine) error) error {
	return c.withDatabase(cmd.Context(), func(d database) error {
		q, err := quarantine.New(quarantine.Options{Pool: d.pool, Schema: d.schema, Ledger: d.outbox.Ledger()})
		if err != nil {
			return err
		}
		return f(d.outbox, q)
	})
}

func (c *cli) newQuarantineList() *cobra.Command {
	var flags quarantineFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List refused deliveries, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			return c.withQuarantine(cmd, func(_ *outbox.Outbox, q *quarantine.Quarantine) error {
				found, err := q.List(cmd.Context(), flags.filter(), limit+1)
				if err != nil {
					return err
				}
				found = cut(c, found, limit)
				header := []string{"ARRIVED", "SOURCE", "REASON", "FROM", "BYTES", "ID"}
				return printList(c, found, "no refused deliveries", header, func(d quarantine.Delivery) []string {
					return []string{shown(d.RejectedAt), string(d.Source), d.Reason, d.From, strconv.Itoa(d.Bytes), d.ID.String()}
				})
			})
		},
	}
	flags.register(cmd)
	limitFlag(cmd, &limit)
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) newQuarantineShow() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a refused delivery",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := deliveryID(args[0])
			if err != nil {
				return err
			}
			if raw && c.asJSON {
				return misused("--raw and --json exclude each other")
			}
			return c.withQuarantine(cmd, func(_ *outbox.Outbox, q *quarantine.Quarantine) error {
				found, err := q.Next(cmd.Context(), quarantine.Filter{ID: id}, quarantine.Mark{}, 1)
				if err != nil {
					return err
				}
				if len(found) == 0 {
					return c.notFound(fmt.Sprintf("no delivery in quarantine has the id %s", id), id.String())
				}
				if raw {
					_, err = c.Stdout.Write(found[0].Body)
					return err
				}
				if c.asJSON {
					return PrintJSON(c.Stdout, found[0])
				}
				return c.showRefused(&found[0])
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "write only the exact bytes of the delivery's body")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) showRefused(d *quarantine.Delivery) error {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Stdout, "%-12s  %s\n", name, safetext.Shown(value))
		}
	}
	field("delivery", d.ID.String())
	field("source", string(d.Source))
	field("arrived", shown(d.RejectedAt))
	field("reason", d.Reason)
	field("detail", d.Detail)
	from := d.From
	if d.Known {
		from += "; deliveries from this address were accepted before"
	}
	field("from", from)
	field("request", fmt.Sprintf("%s %s at %s", d.Method, d.Target, d.Host))
	for _, name := range d.Carried() {
		field("secret", "in "+name+", not stored")
	}
	field("body", fmt.Sprintf("%d bytes", len(d.Body)))
	fmt.Fprintf(c.Stdout, "\nheaders\n")
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		for _, value := range d.Headers[name] {
			fmt.Fprintf(c.Stdout, "  %s: %s\n", safetext.Shown(name), safetext.Shown(value))
		}
	}
	return nil
}

// refusedPreview is the preview of an action on refused deliveries, as --json prints it.
type refusedPreview struct {
	Action   ledger.Action      `json:"action"`
	Preview  bool               `json:"preview"` // always true: nothing was done
	Selected int64              `json:"selected"`
	Shares   []quarantine.Share `json:"shares"`
}

// printShares prints the number of selected deliveries by source and reason, and how to carry out
// the action.
func (c *cli) printShares(shares []quarantine.Share, action ledger.Action, doing string) error {
	total := totalOf(shares)
	if c.asJSON {
		return PrintJSON(c.Stdout, refusedPreview{Action: action, Preview: true, Selected: total, Shares: listed(shares)})
	}
	fmt.Fprintf(c.Stdout, "%s selected\n", refusedCount(total))
	if total == 0 {
		return nil
	}
	fmt.Fprintln(c.Stdout)
	t := newTable(c.Stdout, "SOURCE", "REASON", "COUNT", "FIRST", "LAST")
	for _, s := range shares {
		t.row(string(s.Source), s.Reason, strconv.FormatInt(s.Count, 10), shown(s.First), shown(s.Last))
	}
	if err := t.flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "\n%s them with the same command and --yes\n", doing)
	return err
}

// refusedCount formats a number of refused deliveries.
func refusedCount(n int64) string {
	if n == 1 {
		return "1 refused delivery"
	}
	return strconv.FormatInt(n, 10) + " refused deliveries"
}
