package main

import (
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

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

var effectStates = []ledger.EffectState{
	ledger.EffectPending, ledger.EffectStarted, ledger.EffectInDoubt, ledger.EffectDone,
	ledger.EffectFailed, ledger.EffectParked, ledger.EffectCancelled,
}
