package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

func (c *cli) newAlerts() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "List and mute alerts",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newAlertsList(), c.newAlertsMute())
	return cmd
}

func (c *cli) withAlerts(cmd *cobra.Command, f func(*alarm.Book) error) error {
	return c.withDatabase(cmd.Context(), func(d database) error {
		book, err := alarm.NewBook(d.pool, d.schema, d.outbox.Ledger())
		if err != nil {
			return err
		}
		return f(book)
	})
}

func (c *cli) newAlertsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List firing alerts and active mutes",
		Long: `List the alerts that were firing when a worker last checked, and how often each was sent
to the destinations in alerts.to. Mutes are listed too. Workers check every 15 seconds if
alerts.to or alerts.heartbeat is set. If neither is set, use hooklatch status, which
runs the checks itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAlerts(cmd, func(book *alarm.Book) error {
				list, err := book.List(cmd.Context())
				if err != nil {
					return err
				}
				return printList(c, list, "no alerts", []string{"ALERT", "SUBJECT", "SEVERITY", "SINCE", "NOTIFIED", "MUTED UNTIL", "MESSAGE"}, func(e alarm.Entry) []string {
					if e.Message == "" { // a mute of an alert that does not fire
						return []string{e.Name, "-", "-", "-", "-", shown(e.MutedUntil), "-"}
					}
					return []string{e.Name, cmp.Or(e.Subject, "-"), string(e.Severity), shown(e.Since), counted(e.TimesTold, "time"), shown(e.MutedUntil), e.Message}
				})
			})
		},
	}
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) newAlertsMute() *cobra.Command {
	var length time.Duration
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "mute NAME",
		Short: "Mute an alert for a while",
		Long: `Mute an alert for a while, for all of its subjects. Alerts that fire meanwhile are
sent when the mute ends, if their conditions still hold. --for 0s ends a mute immediately.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if length < 0 {
				return misused("--for %s: it must not be negative", length)
			}
			return c.withAlerts(cmd, func(book *alarm.Book) error {
				err := book.Mute(cmd.Context(), args[0], length, by.operator())
				if _, unknown := errors.AsType[*alarm.UnknownError](err); unknown {
					return misused("%s", err)
				}
				if err != nil {
					return err
				}
				if length == 0 {
					_, err = fmt.Fprintf(c.Stdout, "%s is no longer muted%s\n", args[0], c.within)
				} else {
					_, err = fmt.Fprintf(c.Stdout, "%s is muted for %s%s\n", args[0], clock.Roughly(length), c.within)
				}
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&length, "for", 2*time.Hour, "`duration` of the mute")
	by.register(cmd)
	return cmd
}
