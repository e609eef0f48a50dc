package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
)

func newEffectsRetry(p *process, g *globals, database *databaseFlag) *cobra.Command {
	return effectAction(p, g, database, "retry KEY", "Try a failed, parked or cancelled effect again, at once, under its key",
		"is tried again", (*outbox.Outbox).Retry)
}

func newEffectsCancel(p *process, g *globals, database *databaseFlag) *cobra.Command {
	return effectAction(p, g, database, "cancel KEY", "Give an effect up that is not done",
		"is cancelled", (*outbox.Outbox).Cancel)
}

func newEffectsPark(p *process, g *globals, database *databaseFlag) *cobra.Command {
	return effectAction(p, g, database, "park KEY", "Put an unfinished effect aside until a person retries or cancels it",
		"is parked", (*outbox.Outbox).Park)
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// effectAction is a command that orders something about one effect.
func effectAction(p *process, g *globals, database *databaseFlag, use, short, done string,
	do func(*outbox.Outbox, context.Context, string, outbox.Operator) error,
) *cobra.Command {
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd.Context(), p, g, database, func(o *outbox.Outbox) error {
				err := do(o, cmd.Context(), args[0], by.operator())
				if errors.Is(err, outbox.ErrNotFound) {
					return fmt.Errorf("there is no effect with the key %s", printable(args[0]))
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.stdout, "%s %s\n", args[0], done)
				return err
			})
		},
	}
	by.register(cmd)
	return cmd
}
