package cli

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newEffectsErase() *cobra.Command {
	var by operatorFlags
	var destination string
	var cancel, yes bool
	cmd := &cobra.Command{
		Use:   "erase KEY",
		Short: "Erase the content of an effect that an application enqueued",
		Long: `Erase the content of one effect that an application enqueued: its requests, the
responses and the errors. The effect's key and state are kept, so that the key cannot be
enqueued again, and the effect is never attempted again. KEY is the key that the
receiver gets or, with --destination, the key with which the application enqueued the
effect. To erase the effects of an event, erase the event: 'hooklatch events erase'.
If the event has expired, erase each of its effects by its key.

The command refuses an unfinished effect; --cancel cancels the effect first. Nothing is
erased until --yes is given. An erasure cannot be undone.`,
		Example: "  " + c.Name + ` effects erase hl_77a1cf6b2b54f3b2b3f7c3d0f7d8d1a2b3c4d5e6 --yes
  ` + c.Name + ` effects erase --destination mail welcome-42 --cancel --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key := args[0]
			if destination != "" {
				id := identity.EffectID{Scope: identity.ScopeOfEnqueue(destination), Key: identity.Key(key), Generation: 1}
				key = id.IdempotencyKey()
			}
			operator := by.operator()
			operator.RequestID = uuid.NewString()
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				view := erasureView{Action: erasure.ActionEraseEffect, Target: key, Preview: !yes, Selected: 1}
				e, err := o.Ledger().Effect(cmd.Context(), key)
				if errors.Is(err, ledger.ErrNotFound) {
					return c.noSuchEffect(args[0])
				}
				if err == nil && yes {
					view.Erased = 1
					_, err = o.Erasure().Effect(cmd.Context(), key, operator, erasure.Order{Cancel: cancel})
				}
				if err != nil {
					return orCancel(err)
				}
				switch {
				case c.asJSON:
					return PrintJSON(c.Stdout, view)
				case yes:
					_, err = fmt.Fprintf(c.Stdout, "%s%s\n", erasedLine, e.IdempotencyKey)
				default:
					_, err = fmt.Fprintf(c.Stdout, "%s to %s, %s, created %s\nerase it with the same command and --yes\n",
						e.IdempotencyKey, e.Destination, e.State, shown(e.CreatedAt))
				}
				return err
			})
		},
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&destination, "destination", "", "KEY is the key with which the application enqueued an effect for this `destination`")
	cmd.Flags().BoolVar(&cancel, "cancel", false, "cancel the effect if it is unfinished, then erase it")
	cmd.Flags().BoolVar(&yes, "yes", false, "erase; without this flag the effect is only shown")
	return cmd
}
