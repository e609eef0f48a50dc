package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/route"
)

// MainCell is the name of the cell whose database is Config.Database.
const MainCell = cells.Main

// CellNames returns the names of all cells: the main cell, and then the others in order.
func (c *Config) CellNames() []string {
	return append([]string{MainCell}, slices.Sorted(maps.Keys(c.Cells))...)
}

// InCell returns the configuration of one cell, with only this cell's database and sources. Sources
// that are moving or have moved to another cell are included, because the cell still finishes their
// effects. Only the main cell has the checks, because they query the application's database.
// Without cells, InCell returns c itself.
func (c *Config) InCell(name string) *Config {
	if len(c.Cells) == 0 {
		return c
	}
	part := *c
	part.whole, part.cell, part.Sources = c, name, map[string]Source{}
	for source, s := range c.Sources {
		if s.InCell() == name || s.MovedFrom == name {
			part.Sources[source] = s
		}
	}
	if name != MainCell {
		part.Database, part.Checks = c.Cells[name], nil
		part.Alerts.Heartbeat = secret.Value{} // the main cell sends the heartbeat for all cells
		part.Admin.ConsoleURL = strings.TrimSuffix(c.Admin.ConsoleURL, "/") + CellPath(name)
	}
	return &part
}

// Cell returns the name of the cell that c configures: see InCell.
func (c *Config) Cell() string { return cmp.Or(c.cell, MainCell) }

// Accepting returns the names of the sources whose deliveries the cell accepts, in order. It omits
// sources that are moving or have moved to another cell.
func (c *Config) Accepting() []string {
	names := slices.Sorted(maps.Keys(c.Sources))
	return slices.DeleteFunc(names, func(name string) bool { return c.cell != "" && c.Sources[name].MovedFrom == c.cell })
}

// CellPath returns the path of a cell's console.
func CellPath(name string) string { return "/cells/" + name }

// Whole returns the complete configuration, with all cells. If c is the result of InCell, Whole
// returns the configuration that InCell was called on.
func (c *Config) Whole() *Config {
	if c.whole == nil {
		return c
	}
	return c.whole
}

// InCell returns the name of the source's cell.
func (s Source) InCell() string {
	if s.Cell == "" {
		return MainCell
	}
	return s.Cell
}

// otherThanMain returns a cell that has effects of the source and is not the main cell, or "".
func (s Source) otherThanMain() string {
	if s.InCell() != MainCell {
		return s.InCell()
	}
	return s.MovedFrom
}

// checkCells reports invalid cells and settings that are not possible with cells: see
// docs/cells.md.
func (c *Config) checkCells(d *decoder) {
	used := map[string]string{databaseID(c.Database): "database"}
	for _, name := range slices.Sorted(maps.Keys(c.Cells)) {
		at, db := join("cells", name), c.Cells[name]
		var names option.Check
		names.Name("", name)
		d.faults(at, names.Err())
		if name == MainCell {
			d.reportf(at, "%s is the name of the cell whose database is in the section database; choose another name", name)
		}
		if db.URL.IsZero() {
			d.missingf(at, "url", "has no url of its database")
		}
		db.check(d, at)
		id := databaseID(db)
		if first, twice := used[id]; twice && id != "" {
			d.reportf(at, "is the database and schema of %s; two cells cannot share them: set another schema", first)
		}
		used[id] = at
	}
	for name, s := range c.Sources {
		_, known := c.Cells[s.Cell]
		switch at := join("sources", name) + ".cell"; {
		case s.Cell == "" || s.Cell == MainCell:
		case !known:
			d.among(at, "cell", s.Cell, c.CellNames())
		case s.Handlers:
			d.reportf(at, "%s does not use the application's database: a source with handlers must be in the cell %s", d.show(at, s.Cell), MainCell)
		}
		switch at := join("sources", name) + ".moved_from"; {
		case s.MovedFrom == "":
		case !slices.Contains(c.CellNames(), s.MovedFrom):
			d.among(at, "cell", s.MovedFrom, c.CellNames())
		case s.MovedFrom == s.InCell():
			d.reportf(at, "%s is the cell of the source itself; name the cell from which it moves", d.show(at, s.MovedFrom))
		case s.Handlers:
			d.reportf(at, "%s is not possible for a source with handlers, which is always in the cell %s", d.show(at, s.MovedFrom), MainCell)
		}
	}
	c.checkStatements(d)
}

// checkStatements refuses routes to sql destinations from sources outside the main cell. The
// statements would run in the cell's database, in the transaction that settles the effect, and not
// in the application's database.
func (c *Config) checkStatements(d *decoder) {
	for i, r := range c.Routes {
		if c.Destinations[r.To].SQL == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
			matches := slices.Contains(r.From, name) || slices.Contains(r.From, route.EverySource)
			s := c.Sources[name]
			if cell := cmp.Or(s.otherThanMain(), MainCell); matches && cell != MainCell {
				d.reportf("routes["+strconv.Itoa(i)+"].from", "source %q is in cell %q, and the statements of destination %q would run in the database of that cell; "+
					"name only sources of the cell %s", name, cell, r.To, MainCell)
			}
		}
	}
}

// databaseID identifies a database and schema, or returns "" for an invalid connection string.
func databaseID(db Database) string {
	parsed, err := pgconn.ParseConfig(db.URL.Reveal())
	if err != nil || db.URL.IsZero() {
		return ""
	}
	return parsed.Host + ":" + strconv.Itoa(int(parsed.Port)) + "/" + parsed.Database + " " + string(schema.Name(db.Schema).OrDefault())
}
