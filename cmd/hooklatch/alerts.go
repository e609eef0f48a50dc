package main

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
		Short: "List and mute what people are told",
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
		Short: "List what needs a person, and who was told",
		Long: `List what needed a person when a worker last looked, every 15 seconds, and how
often it was told to those in alerts.to of the configuration; and what is muted.
Without alerts.to no worker looks: see status, which does so itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAlerts(cmd, func(book *alarm.Book) error {
				list, err := book.List(cmd.Context())
				if err != nil {
					return err
				}
				return printList(c, list, "nothing needs a person", []string{"ALERT", "ABOUT", "SEVERITY", "SINCE", "TOLD", "MUTED UNTIL", "WHAT"}, func(e alarm.Entry) []string {
					if e.Message == "" { // needs nobody now
						return []string{e.Name, "-", "-", "-", "-", shown(e.MutedUntil), "-"}
					}
					return []string{e.Name, cmp.Or(e.Subject, "-"), string(e.Severity), shown(e.Since), counted(e.TimesTold, "time"), shown(e.MutedUntil), e.Message}
				})
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) newAlertsMute() *cobra.Command {
	var length time.Duration
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "mute NAME",
		Short: "Tell nobody of an alert for a while",
		Long: `Tell nobody of an alert for a while, whatever it is about. What begins meanwhile
is told when that is over and it lasts. --for 0s tells it again at once.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if length < 0 {
				return misused("--for must not be negative")
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
					_, err = fmt.Fprintf(c.stdout, "%s is told again\n", args[0])
				} else {
					_, err = fmt.Fprintf(c.stdout, "%s is muted for %s\n", args[0], clock.Roughly(length))
				}
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&length, "for", 2*time.Hour, "for how long")
	by.register(cmd)
	return cmd
}
