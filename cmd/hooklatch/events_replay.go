package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
)

func newEventsReplay(p *process, g *globals, database *databaseFlag) *cobra.Command {
	var filter outbox.EventFilter
	var state string
	var newKeys, yes bool
	cmd := &cobra.Command{
		Use:   "replay (SOURCE EVENT_ID | --state STATE)",
		Short: "Dispatch events once more, by the configuration of today",
		Long: `Dispatch one event once more, or all that were skipped or failed, by the
configuration of today. Effects that succeeded stay; those that did not are tried
again under their old key. With --new-keys new effects are made under new keys,
which receivers apply again. Every replay is recorded.`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts := outbox.ReplayOptions{NewKeys: newKeys, RequestedBy: operator()}
			if len(args) > 0 {
				if state != "" || filter.Source != "" || filter.Type != "" {
					return misused("an event and a selection by flags exclude each other")
				}
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return withOutbox(cmd.Context(), p, g, database, func(o *outbox.Outbox) error {
					return p.replayOne(cmd.Context(), o, ref, opts)
				})
			}
			var err error
			if filter.Outcome, err = oneOf("state", state, []outbox.EventOutcome{outbox.EventSkipped, outbox.EventFailed}); err != nil {
				return err
			}
			if filter.Outcome == "" {
				return misused("name an event, or select events with --state skipped or --state failed")
			}
			return withOutbox(cmd.Context(), p, g, database, func(o *outbox.Outbox) error {
				return p.replayAll(cmd.Context(), o, filter, opts, yes)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "replay all in this `state`: skipped or failed")
	cmd.Flags().StringVar(&filter.Source, "source", "", "of those, only the ones of this `source`")
	cmd.Flags().StringVar(&filter.Type, "type", "", "of those, only the ones of this `type`")
	cmd.Flags().BoolVar(&newKeys, "new-keys", false, "make new effects under new keys: receivers apply them again")
	cmd.Flags().BoolVar(&yes, "yes", false, "replay the selected events; without it they are only counted")
	return cmd
}

// operator is who asks, for the record (I11).
func operator() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func (p *process) replayOne(ctx context.Context, o *outbox.Outbox, ref outbox.EventRef, opts outbox.ReplayOptions) error {
	done, err := o.Replay(ctx, ref, opts)
	if errors.Is(err, outbox.ErrNotFound) {
		return fmt.Errorf("there is no event %s", ref)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s is dispatched again, generation %d; %s tried again\n", printable(ref.String()), done.Generation, counted(done.Reopened, "effect"))
	return err
}

// selectEvents lists the events of a filter page by page, oldest last.
func selectEvents(ctx context.Context, o *outbox.Outbox, filter outbox.EventFilter) ([]outbox.EventRef, error) {
	filter.Limit = 1000
	var refs []outbox.EventRef
	for {
		page, err := o.Events(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			refs = append(refs, e.EventRef)
			filter.Before = e.AcceptSeq
		}
		if len(page) < filter.Limit {
			return refs, nil
		}
	}
}

func (p *process) replayAll(ctx context.Context, o *outbox.Outbox, filter outbox.EventFilter, opts outbox.ReplayOptions, yes bool) error {
	refs, err := selectEvents(ctx, o, filter)
	if err != nil {
		return err
	}
	if !yes || len(refs) == 0 {
		fmt.Fprintf(p.stdout, "%s %s\n", counted(len(refs), "event"), filter.Outcome)
		if len(refs) > 0 {
			fmt.Fprintln(p.stdout, "replay them with the same command and --yes")
		}
		return nil
	}
	replayed, effects := 0, 0
	told := time.Now()
	// The oldest first, as they came.
	for _, ref := range slices.Backward(refs) {
		done, err := o.Replay(ctx, ref, opts)
		switch {
		case errors.Is(err, outbox.ErrNotReplayable), errors.Is(err, outbox.ErrNotFound):
			continue // somebody else was faster, or retention was
		case err != nil:
			return fmt.Errorf("%d of %d replayed: %w", replayed, len(refs), err)
		}
		replayed++
		effects += done.Reopened
		if time.Since(told) > progressInterval {
			told = time.Now()
			fmt.Fprintf(p.stderr, "%d of %d\n", replayed, len(refs))
		}
	}
	_, err = fmt.Fprintf(p.stdout, "%s replayed, %s tried again\n", counted(replayed, "event"), counted(effects, "effect"))
	return err
}
