package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newLogins() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logins",
		Short: "List who is signed in at the console, and sign people out",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newLoginsList(), c.newLoginsEnd())
	return cmd
}

func (c *cli) withLogins(cmd *cobra.Command, f func(*signin.Logins, *ledger.Ledger) error) error {
	return c.withDatabase(cmd.Context(), func(d database) error {
		logins, err := signin.NewLogins(d.pool, d.schema)
		if err != nil {
			return err
		}
		return f(logins, d.outbox.Ledger())
	})
}

func (c *cli) newLoginsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List who is signed in at the console",
		Long: `List who is signed in at the console, in which role, and how: with a token or
through OIDC. Machines that carry a token, and people whom a proxy names, do not sign in.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withLogins(cmd, func(logins *signin.Logins, _ *ledger.Ledger) error {
				list, err := logins.List(cmd.Context())
				if err != nil {
					return err
				}
				return printList(c, list, "nobody is signed in", []string{"NAME", "ROLE", "WAY", "SIGNED IN", "LAST SEEN"}, func(l signin.Login) []string {
					return []string{l.Name, string(l.Role), string(l.Way), shown(l.SignedInAt), shown(l.SeenAt)}
				})
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) newLoginsEnd() *cobra.Command {
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "end NAME",
		Short: "Sign somebody out of the console, in every browser",
		Long: `Sign somebody out of the console, in every browser: their next request leads to the
page for signing in. Whoever is to stay out must lose the token, or the claim that gives
the role, as well.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withLogins(cmd, func(logins *signin.Logins, book *ledger.Ledger) error {
				ended, err := logins.EndOf(cmd.Context(), book, args[0], by.operator())
				if errors.Is(err, ledger.ErrNotFound) {
					return fmt.Errorf("%s is not signed in; see: %s logins list", args[0], c.name)
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.stdout, "%s is signed out: %s ended\n", args[0], counted(int(ended), "login"))
				return err
			})
		},
	}
	by.register(cmd)
	return cmd
}
