package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

func (c *cli) newCells() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cells",
		Short: "Move sources between the databases of an installation",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(c.newCellsMove())
	return cmd
}

// moveFlags are the flags of the cells move command.
type moveFlags struct {
	to      string
	abandon bool
	yes     bool
	by      operatorFlags
}

func (c *cli) newCellsMove() *cobra.Command {
	var f moveFlags
	cmd := &cobra.Command{
		Use:   "move SOURCE --to CELL --yes",
		Short: "Move a source to another cell",
		Long: `Move a source to another cell. First set cell to the new cell and moved_from to the old
cell in the configuration, and reload all processes. They continue to store the source's
events in the old cell until this command hands the source over.

The command copies all data that the old cell uses to recognise duplicates: event ids,
effect keys, guards, and the coverage of backfill. Meanwhile the gateway accepts
deliveries. During the last step the gateway answers 503 for a few seconds. The old cell
keeps its events and finishes their effects.

The source must have no held events. Its ordered effects must finish before the last
step, because later events may depend on them. If the command is interrupted, run it
again: it continues. Until then the old cell accepts deliveries, and records every row
that the move must copy.

With --abandon the command ends a move that has begun but not completed. The source
stays in its old cell. Afterwards set cell to the old cell, remove moved_from, and
reload all processes. Copied rows stay in the new cell until they expire.

Like 'hooklatch migrate up', run the command as the role that owns the tables.`,
		Example: "  " + c.Name + " cells move stripe --to payments --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			from, err := c.leaves(cfg, args[0], f.to)
			if err != nil {
				return err
			}
			if !f.yes {
				what := "move"
				if f.abandon {
					what = "abandon the move of"
				}
				_, err := fmt.Fprintf(c.Stdout, "%s %s from the cell %s to the cell %s with the same command and --yes\n", what, args[0], from, f.to)
				return err
			}
			return c.inCell(from).withDatabase(cmd.Context(), func(old database) error {
				v := &moves.Move{
					Source: identity.Source(args[0]), From: moves.Side{Cell: from, Moves: old.outbox.Moves()}, To: moves.Side{Cell: f.to}, By: f.by.operator(),
				}
				if f.abandon { // the new cell may be unavailable for good
					return c.abandon(cmd.Context(), v)
				}
				return c.inCell(f.to).withDatabase(cmd.Context(), func(next database) error {
					if err := expected(cmd.Context(), old, next); err != nil {
						return err
					}
					v.To.Moves = next.outbox.Moves()
					return c.move(cmd.Context(), v)
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "`name` of the new cell; required")
	cmd.Flags().BoolVar(&f.abandon, "abandon", false, "end a move that has begun; the source stays in its old cell")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "move the source, or abandon its move; without this flag the configuration is only checked")
	f.by.register(cmd)
	_ = cmd.MarkFlagRequired("to") // the flag exists
	return cmd
}

// leaves returns the cell from which a source moves, according to the configuration.
func (c *cli) leaves(cfg *config.Config, source, to string) (string, error) {
	s, err := sourceOf(cfg.Whole(), source)
	switch {
	case err != nil:
		return "", err
	case !slices.Contains(cfg.CellNames(), to):
		return "", misused("--to %s: %s has no such cell; its cells are %s", to, cfg.Path(), strings.Join(cfg.CellNames(), ", "))
	case s.InCell() == to && s.MovedFrom == "":
		return "", fmt.Errorf("%s does not say that the source moves: set moved_from to the cell that stores the events of the source %s, and reload all processes", cfg.Path(), source)
	case s.InCell() != to || s.MovedFrom == "":
		return "", fmt.Errorf("%s does not say that the source moves: set cell: %s and moved_from: %s for the source %s, and reload all processes", cfg.Path(), to, s.InCell(), source)
	}
	return s.MovedFrom, nil
}

// expected returns an error if a running process has another configuration, because such a process
// may not expect the move.
func expected(ctx context.Context, old, next database) error {
	for _, in := range []database{old, next} {
		status, err := doctor.ReadStatus(ctx, doctor.StatusOptions{Pool: in.pool, Schema: in.schema, Awaited: true})
		if err != nil {
			return err
		}
		var others []string
		for _, p := range status.Processes {
			if p.ConfigHash != in.config.Hash() {
				others = append(others, p.Name)
			}
		}
		if len(others) > 0 {
			return fmt.Errorf("the configuration of some processes differs from %s: %s; reload them, and try again a minute later", in.config.Path(), strings.Join(others, ", "))
		}
	}
	return nil
}

// abandon cancels a move that has begun. It fails if the source has already moved.
func (c *cli) abandon(ctx context.Context, v *moves.Move) error {
	err := v.Abandon(ctx)
	if errors.Is(err, moves.ErrMoved) {
		return fmt.Errorf("%w: run the same command without --abandon, which completes the move", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "the move of %s to the cell %s is abandoned; set cell: %s, remove moved_from, and reload all processes\n", v.Source, v.To.Cell, v.From.Cell)
	return err
}

// move carries out a move, and prints its progress.
func (c *cli) move(ctx context.Context, v *moves.Move) error {
	progress := c.eachSecond()
	v.Tell = func(s moves.Step) {
		if s.Table == "" {
			progress("%s written since the move began\n", counted(s.Rows, "row"))
			return
		}
		progress("%s of %s\n", counted(s.Rows, "row"), s.Table)
	}
	if err := v.Run(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "%s has moved to the cell %s; its earlier events are still in the cell %s\n", v.Source, v.To.Cell, v.From.Cell)
	return err
}
