package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// agreement runs the queries that the configuration lists under checks. Each row that a query
// returns needs attention.
func (c *checkup) agreement(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "agreement"
	for i, one := range cfg.Checks {
		found, err := agreement.Run(ctx, pool, one)
		if refused, ok := errors.AsType[*agreement.RefusedError](err); ok {
			at := "checks[" + strconv.Itoa(i) + "].sql"
			c.add(doctor.Problem, check, cfg.Problem(at, "cannot be run: "+refused.Error()).Error(), "correct the query, or create the tables that it names: until then the check finds nothing")
			continue
		}
		if err != nil {
			c.add(doctor.Problem, check, err.Error(), "correct what the error names")
			continue
		}
		c.findings = append(c.findings, agreed(check, one.Name, found))
	}
}

// agreed returns the finding of a check, with the first rows that its query returned.
func agreed(check, name string, found agreement.Found) doctor.Finding {
	if found.Count == 0 {
		return doctor.Finding{Level: doctor.OK, Check: check, Message: name + ": found no rows"}
	}
	total := counted(found.Count, "row")
	if found.More {
		total = "more than " + total
	}
	lines := []string{name + ": " + total}
	finding := doctor.Finding{Level: doctor.Problem, Check: check, Count: int64(found.Count), Fix: "find the cause and repair your own tables; the query is in the configuration"}
	for _, row := range found.Rows {
		values := make([]string, len(row))
		shown := make(map[string]*string, len(row))
		for i, column := range row {
			shown[column.Name] = column.Value
			values[i] = column.Name + "=" + quotedValue(column.Value)
		}
		lines = append(lines, strings.Join(values, " "))
		finding.Rows = append(finding.Rows, shown)
	}
	switch rest := found.Count - len(found.Rows); {
	case found.More:
		lines = append(lines, fmt.Sprintf("and more than %d more rows", rest))
	case rest > 0:
		lines = append(lines, fmt.Sprintf("and %d more rows", rest))
	}
	finding.Message = strings.Join(lines, "\n")
	return finding
}

// quotedValue returns a value on one line, in quotes if it would otherwise be ambiguous.
func quotedValue(value *string) string {
	switch {
	case value == nil:
		return "NULL"
	case *value == "" || *value == "NULL" || strings.ContainsFunc(*value, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' }):
		return strconv.Quote(*value)
	}
	return *value
}
