package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/cells"
)

// patienceWithCell is the value of Process.CellPatience. Tests wait longer.
const patienceWithCell = 5 * time.Second

// cellScreen contains the status of one cell, or the reason why the cell did not answer.
type cellScreen struct {
	Cell   string `json:"cell"`
	Error  string `json:"error,omitzero"`
	Status screen `json:"status,omitempty"`
}

// cellScreens is the status of all cells.
type cellScreens struct {
	Cells []cellScreen `json:"cells"`
}

// Print implements screen.
func (s cellScreens) Print(w io.Writer) error {
	for i, one := range s.Cells {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if one.Status == nil {
			if _, err := fmt.Fprintf(w, "cell %s did not answer: %s\n", one.Cell, one.Error); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "cell %s\n", one.Cell)
		if err := one.Status.Print(w); err != nil {
			return err
		}
	}
	return nil
}

// NeedsSomebody implements screen.
func (s cellScreens) NeedsSomebody() bool {
	return slices.ContainsFunc(s.Cells, func(one cellScreen) bool { return one.Status == nil || one.Status.NeedsSomebody() })
}

// statusOfCells returns a function that reads the status of all cells.
func (c *cli) statusOfCells(names []string, read func(database) func(context.Context) (screen, error)) func(context.Context) (screen, error) {
	return func(ctx context.Context) (screen, error) {
		answers := cells.Ask(ctx, names, c.CellPatience, func(ctx context.Context, name string) (s screen, err error) {
			err = c.inCell(name).withDatabase(ctx, func(d database) error {
				s, err = read(d)(ctx)
				return err
			})
			return s, err
		})
		var all cellScreens
		for _, one := range answers {
			shown := cellScreen{Cell: one.Cell, Status: one.Value}
			if one.Err != nil {
				shown.Status, shown.Error = nil, c.flags().AddTo(one.Err.Error())
			}
			all.Cells = append(all.Cells, shown)
		}
		return all, ctx.Err()
	}
}
