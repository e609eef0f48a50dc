package statement

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	rowsPattern   = regexp.MustCompile(`^:([a-z0-9_]+)\s+AS\s+([a-z_]+)\s*\(([^()]*)\)$`)
	columnPattern = regexp.MustCompile(`^\s*([a-z][a-z0-9_]*)\s+([a-z][a-z0-9_]*)\s*$`)
)

// rows are arguments that a statement reads as a table.
type rows struct {
	param, alias   string
	columns, types []string
}

// rowsIn reads `:name AS alias (column type, ...)` and returns its length in tokens, or 0 if the
// parameter is a value. CAST(:name AS type (n)) has the same form, and rowsIn refuses it.
func rowsIn(tokens []token) (r rows, length int, err error) {
	next := slices.IndexFunc(tokens[1:], func(t token) bool { return t.kind != comment && strings.TrimSpace(t.text) != "" })
	if next < 0 || tokens[1+next].text != "AS" {
		return rows{}, 0, nil
	}
	var text strings.Builder
	for i, t := range tokens {
		if t.kind != comment {
			text.WriteString(t.text)
		}
		if t.text != ")" {
			continue
		}
		parts := rowsPattern.FindStringSubmatch(text.String())
		if parts == nil {
			return rows{}, 0, nil
		}
		r = rows{param: parts[1], alias: parts[2]}
		for column := range strings.SplitSeq(parts[3], ",") {
			of := columnPattern.FindStringSubmatch(column)
			if of == nil {
				return rows{}, 0, fmt.Errorf("column %q is not a name and a type", strings.TrimSpace(column))
			}
			r.columns = append(r.columns, of[1])
			r.types = append(r.types, of[2])
		}
		return r, i + 1, nil
	}
	return rows{}, 0, nil
}

// unnested returns the table in the form that Postgres accepts. The arrays are unnested side by
// side in a SELECT list: in FROM, Postgres would first copy each array to its own tuple store.
func (r rows) unnested(c *compiled) string {
	columns := make([]string, len(r.columns))
	for i, column := range r.columns {
		number := c.number(param{name: r.param + "." + column, column: r.types[i]})
		columns[i] = "unnest(" + number + "::" + r.types[i] + "[]) AS " + column
	}
	return fmt.Sprintf("(SELECT %s) AS %s", strings.Join(columns, ", "), r.alias)
}
