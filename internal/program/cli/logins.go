package cli

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
		Short: "List console sign-ins, and sign users out",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.registerURL(cmd.PersistentFlags())
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
		Short: "List the users who are signed in to the console",
		Long: `List the users who are signed in to the console, with their role and how they signed
in: with a token or through OIDC. Programs that send a token with each request, and
users whom a proxy authenticates, do not sign in and are not listed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withLogins(cmd, func(logins *signin.Logins, _ *ledger.Ledger) error {
				list, err := logins.List(cmd.Context())
				if err != nil {
					return err
				}
				return printList(c, list, "no users are signed in", []string{"NAME", "ROLE", "METHOD", "SIGNED IN", "LAST SEEN"}, func(l signin.Login) []string {
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
		Short: "Sign a user out of the console in every browser",
		Long: `Sign a user out of the console in every browser. The next request of each browser
leads to the sign-in page. The user can sign in again: to prevent that, also remove
the token, or the claim that grants the role.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withLogins(cmd, func(logins *signin.Logins, book *ledger.Ledger) error {
				ended, err := logins.EndOf(cmd.Context(), book, args[0], by.operator())
				if errors.Is(err, ledger.ErrNotFound) {
					return fmt.Errorf("%s is not signed in; list sign-ins with: %s", args[0], c.command("logins list"))
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.Stdout, "%s is signed out: %s ended\n", args[0], counted(int(ended), "login"))
				return err
			})
		},
	}
	by.register(cmd)
	return cmd
}
