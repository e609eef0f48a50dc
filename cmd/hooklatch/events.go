package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newEvents() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List, show, replay, release, drop and erase accepted events",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newEventsList(), c.newEventsShow(), c.newEventsReplay(),
		c.newEventsRelease(), c.newEventsDrop(), c.newEventsErase())
	return cmd
}

var eventOutcomes = []inbox.Outcome{
	inbox.Received, inbox.Dispatched, inbox.Skipped, inbox.Failed, inbox.Held, inbox.Dropped,
}

// oneOf checks a flag that takes a word of a fixed set; empty is fine.
func oneOf[T ~string](flag, given string, allowed []T) (T, error) {
	if given == "" || slices.Contains(allowed, T(given)) {
		return T(given), nil
	}
	words := make([]string, len(allowed))
	for i, word := range allowed {
		words[i] = string(word)
	}
	return "", misused("--%s %q is not one of %s", flag, given, strings.Join(words, ", "))
}

// maxLimit bounds what a list shows.
const maxLimit = 10_000

func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 50, fmt.Sprintf("how many at most, up to %d", maxLimit))
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxLimit {
		return misused("--limit %d: allowed are 1 to %d", limit, maxLimit)
	}
	return nil
}

func (c *cli) newEventsList() *cobra.Command {
	var filter inbox.Filter
	var state, since string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.Outcome, err = oneOf("state", state, eventOutcomes); err != nil {
				return err
			}
			if filter.Since, err = timeFlag("since", since, time.Now()); err != nil {
				return err
			}
			if err := checkLimit(filter.Limit); err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				events, err := o.Inbox().Events(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return c.printEvents(events)
			})
		},
	}
	cmd.Flags().StringVar((*string)(&filter.Source), "source", "", "only those of this `source`")
	cmd.Flags().StringVar(&filter.Type, "type", "", "only those of this `type`")
	cmd.Flags().StringVar(&state, "state", "", "only those in this `state`: received, dispatched, skipped, failed, held or dropped")
	cmd.Flags().StringVar(&since, "since", "", "only those received at this `time` or later, like 2026-11-21 or 36h")
	limitFlag(cmd, &filter.Limit)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) printEvents(events []*inbox.Event) error {
	header := []string{"RECEIVED", "SOURCE", "EVENT", "TYPE", "STATE", "DUPLICATES"}
	return printList(c, events, "no events", header, func(e *inbox.Event) []string {
		return []string{shown(e.ReceivedAt), string(e.Source), string(e.EventID), e.Type, string(e.Outcome), strconv.FormatInt(e.Duplicates, 10)}
	})
}

// eventRef reads SOURCE EVENT_ID, or both in one with a slash between.
func eventRef(args []string) (identity.EventRef, error) {
	if len(args) == 2 {
		return identity.EventRef{Source: identity.Source(args[0]), EventID: identity.EventID(args[1])}, nil
	}
	source, id, ok := strings.Cut(args[0], "/")
	if !ok || source == "" || id == "" {
		return identity.EventRef{}, misused("%q names no event: give SOURCE EVENT_ID or SOURCE/EVENT_ID", args[0])
	}
	return identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}, nil
}

// orNoSuchEvent says which event it is that was not found.
func orNoSuchEvent(err error, ref identity.EventRef) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("there is no event %s", ref)
	}
	return err
}

// loadEffects loads the effects of an event with their attempts.
func loadEffects(ctx context.Context, o *outbox.Outbox, links []ledger.EventEffect) ([]effectDetail, error) {
	details := make([]effectDetail, 0, len(links))
	for _, link := range links {
		detail, err := loadEffect(ctx, o, link.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		detail.suppressed = link.Suppressed
		details = append(details, detail)
	}
	return details, nil
}
