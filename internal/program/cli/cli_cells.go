package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
)

// ofOneCell contains flags of list commands. With one of these flags, a list works on one cell
// only.
var ofOneCell = []string{"cursor", "follow"}

// inAllCells lets a command that lists rows work on all cells, one after the other, unless --cell
// names one. If a cell does not answer, the rows of the other cells are printed first, and the
// error then names that cell.
func (c *cli) inAllCells(cmd *cobra.Command) *cobra.Command {
	list := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := c.loadForDatabase()
		if err != nil || c.database.cell != "" || len(cfg.Cells) == 0 {
			return list(cmd, args) // list returns the same error, after it has checked the flags
		}
		for _, name := range ofOneCell {
			if cmd.Flags().Changed(name) {
				return misused("--%s works on one cell: add --cell with one of %s", name, strings.Join(cfg.CellNames(), ", "))
			}
		}
		answers := cells.Ask(cmd.Context(), cfg.CellNames(), c.CellPatience, func(ctx context.Context, name string) (struct{}, error) {
			return struct{}{}, c.inCell(name).withDatabase(ctx, func(database) error { return nil })
		})
		rows := rowsOfCells{out: c.Stdout, asJSON: c.asJSON}
		for i, one := range answers {
			if one.Err != nil || cmd.Context().Err() != nil {
				continue
			}
			if err := cmd.Flags().Set("cell", one.Cell); err != nil { // so that the commands that the list prints have the flag too
				return err
			}
			answers[i].Err = rows.add(one.Cell, func(out io.Writer) error {
				c.Stdout = out
				return list(cmd, args)
			})
			if _, misuse := errors.AsType[*usageError](answers[i].Err); misuse {
				return answers[i].Err // misuse is the same in each cell
			}
		}
		c.Stdout = rows.out
		return errors.Join(append(cells.Errors(answers), rows.flush(), cmd.Context().Err())...)
	}
	return cmd
}

// rowsOfCells prints the output of a list for each cell. Text is printed below the cell's name. In
// JSON, each object has the member cell. If the list is an array, all cells share one array.
type rowsOfCells struct {
	out    io.Writer
	asJSON bool
	begun  bool               // true if a cell has printed text
	array  []plainjson.Joined // nil if the list prints one object per line
}

// add prints the rows of one cell.
func (r *rowsOfCells) add(cell string, list func(out io.Writer) error) error {
	if !r.asJSON {
		below := &headed{out: r.out, heading: "cell " + cell + "\n"}
		if r.begun {
			below.heading = "\n" + below.heading
		}
		err := list(below)
		r.begun = r.begun || below.heading == ""
		return err
	}
	var printed bytes.Buffer
	err := list(&printed) // an interrupted list may have printed rows
	name := struct {
		Cell string `json:"cell"`
	}{cell}
	decoder := json.NewDecoder(&printed)
	for {
		var value json.RawMessage
		if decodeErr := decoder.Decode(&value); decodeErr != nil {
			if !errors.Is(decodeErr, io.EOF) {
				err = errors.Join(err, decodeErr)
			}
			return err
		}
		var rows []json.RawMessage
		if json.Unmarshal(value, &rows) != nil { // not an array
			err = errors.Join(err, printLine(r.out, plainjson.Joined{name, value}))
			continue
		}
		r.array = slices.Grow(listed(r.array), len(rows))
		for _, row := range rows {
			r.array = append(r.array, plainjson.Joined{name, row})
		}
	}
}

// headed prints a heading before the first write. It prints no heading if nothing is written, for
// example because a flag was misused.
type headed struct {
	out     io.Writer
	heading string // empty once it is printed
}

// Write implements io.Writer.
func (h *headed) Write(p []byte) (int, error) {
	if h.heading != "" {
		if _, err := io.WriteString(h.out, h.heading); err != nil {
			return 0, err
		}
		h.heading = ""
	}
	return h.out.Write(p)
}

// flush prints the array of all cells.
func (r *rowsOfCells) flush() error {
	if r.array == nil {
		return nil
	}
	return PrintJSON(r.out, r.array)
}

// storedHere returns an error if the source is moving or has moved, and another cell than the cell of
// cfg stores its events now. Only that cell knows which events it has.
func storedHere(ctx context.Context, o *outbox.Outbox, cfg *config.Config, source string) error {
	s := cfg.Sources[source]
	if s.MovedFrom == "" {
		return nil
	}
	states, err := o.Moves().States(ctx, []string{source})
	if err != nil {
		return err
	}
	here := states[source]
	switch left := here.Left && here.ToCell == s.InCell(); {
	case cfg.Cell() == s.MovedFrom && left:
		return fmt.Errorf("source %q has moved: add --cell %s", source, s.InCell())
	case cfg.Cell() == s.InCell() && (!here.Arrived || here.Left):
		return fmt.Errorf("source %q has not moved yet: add --cell %s", source, s.MovedFrom)
	}
	return nil
}

// tellLeftOut prints each cell that a command left out although the cell may have events of the
// source. If the source is empty or not configured, every cell may have some. It prints nothing if
// --cell is given.
func (c *cli) tellLeftOut(source string) {
	cfg, err := c.loadForDatabase()
	if err != nil || c.database.cell != "" || len(cfg.Whole().Cells) == 0 {
		return
	}
	all := cfg.Whole().CellNames()
	if of, known := cfg.Whole().Sources[source]; known {
		all = slices.DeleteFunc(all, func(name string) bool { return name != of.InCell() && name != of.MovedFrom })
	}
	for _, name := range all {
		if name != config.MainCell {
			fmt.Fprintf(c.Stderr, "this command works on the cell %s only; the cell %s may have the data too: repeat the command with --cell %s\n", config.MainCell, name, name)
		}
	}
}
