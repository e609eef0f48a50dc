package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
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

func (c *cli) newEffectsList() *cobra.Command {
	var filter ledger.EffectFilter
	var state, event, since string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List effects, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.State, err = oneOf("state", state, effectStates); err != nil {
				return err
			}
			if event != "" {
				if filter.Event, err = eventRef([]string{event}); err != nil {
					return err
				}
			}
			if filter.Since, err = timeFlag("since", since, time.Now()); err != nil {
				return err
			}
			if err := checkLimit(filter.Limit); err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				effects, err := o.Ledger().Effects(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return c.printEffects(effects)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Destination, "destination", "", "only those to this `destination`")
	cmd.Flags().StringVar(&state, "state", "", "only those in this `state`: pending, started, in_doubt, done, failed, parked or cancelled")
	cmd.Flags().StringVar(&filter.Route, "route", "", "only those of this `route`")
	cmd.Flags().StringVar((*string)(&filter.Source), "source", "", "only those of events of this `source`")
	cmd.Flags().StringVar(&since, "since", "", "only those made at this `time` or later, like 2026-11-21 or 36h")
	cmd.Flags().StringVar(&event, "event", "", "only those of this event, as `SOURCE/EVENT_ID`")
	limitFlag(cmd, &filter.Limit)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) printEffects(effects []ledger.Effect) error {
	header := []string{"CREATED", "EFFECT", "DESTINATION", "EVENT", "STATE", "ATTEMPTS", "LAST"}
	return printList(c, effects, "no effects", header, func(e ledger.Effect) []string {
		return []string{shown(e.CreatedAt), e.IdempotencyKey, e.Destination, causeOf(e.Event), string(e.State), strconv.Itoa(e.Attempt), lastOf(e)}
	})
}

// causeOf is the event an effect is because of, or a dash.
func causeOf(event identity.EventRef) string {
	if event == (identity.EventRef{}) {
		return "-"
	}
	return event.String()
}

// lastOf is what the last attempt came to, in a word.
func lastOf(e ledger.Effect) string {
	switch {
	case e.ResponseStatus != 0:
		return strconv.Itoa(e.ResponseStatus)
	case e.Error != "":
		return e.Error
	}
	return "-"
}
