package cli

import (
	"github.com/spf13/cobra"
)

func (c *cli) newRoutes() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "routes",
		Short: "List and show routes, and test changes to them",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newRoutesList(), c.newRoutesShow(), c.newRoutesDiff(), c.newRoutesTest())
	return cmd
}
