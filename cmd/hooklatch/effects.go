package main

import "github.com/spf13/cobra"

func (c *cli) newEffects() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "effects",
		Short: "List, show, retry, cancel, park and erase effects",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newEffectsList(), c.newEffectsShow(), c.newEffectsRetry(), c.newEffectsCancel(), c.newEffectsPark(), c.newEffectsErase())
	return cmd
}
