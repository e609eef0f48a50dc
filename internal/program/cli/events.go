package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newEvents() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List, show, export, replay, release, drop and erase accepted events",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newEventsList(), c.newEventsShow(), c.newEventsExport(), c.newEventsErase())
	for _, v := range desk.Of(desk.Events) {
		if v.TakesNewKeys {
			cmd.AddCommand(c.newEventsReplay(v))
		} else {
			cmd.AddCommand(c.newEventsVerb(v))
		}
	}
	return cmd
}

// eventRef parses SOURCE EVENT_ID, or SOURCE/EVENT_ID in one argument.
func eventRef(args []string) (identity.EventRef, error) {
	if len(args) == 2 {
		return identity.EventRef{Source: identity.Source(args[0]), EventID: identity.EventID(args[1])}, nil
	}
	source, id, ok := strings.Cut(args[0], "/")
	if !ok || source == "" || id == "" {
		return identity.EventRef{}, misused("%q is not an event: pass SOURCE EVENT_ID or SOURCE/EVENT_ID", args[0])
	}
	return identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)}, nil
}

// orNoSuchEvent replaces ErrNotFound with an error that names the event.
func (c *cli) orNoSuchEvent(err error, ref identity.EventRef) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return c.noSuchEvent(ref)
	}
	return err
}

// noSuchEvent returns the error for an event that is not stored in the cell of the command. If the
// source is in another cell, the error names that cell.
func (c *cli) noSuchEvent(ref identity.EventRef) error {
	if cfg, err := c.loadForDatabase(); err == nil {
		s, known := cfg.Whole().Sources[string(ref.Source)]
		if cell := s.InCell(); known && len(cfg.Whole().Cells) > 0 && cell != cfg.Cell() {
			return fmt.Errorf("no event is stored as %s in the cell %s; the source is in another cell: add --cell %s", ref, cfg.Cell(), cell)
		}
	}
	return fmt.Errorf("no event is stored as %s", ref)
}
