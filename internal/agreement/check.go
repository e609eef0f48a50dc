// Package agreement checks whether an application's tables agree with the accepted events. It
// runs queries that the operator configured. The queries change nothing, have a time limit and
// return a limited number of rows.
package agreement

import (
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/statement"
)

// Limits for a check.
const (
	// Timeout is the statement_timeout of a check in Postgres.
	Timeout = 10 * time.Second
	// lockTimeout is the maximum wait for a lock. Readers seldom wait for locks.
	lockTimeout = 2 * time.Second
	// answerSlack is the time that the response may take beyond Timeout before the connection
	// is closed.
	answerSlack = 2 * time.Second
	// MaxCount is the maximum number of rows that are counted.
	MaxCount = 1000
	// MaxShown is the maximum number of rows shown.
	MaxShown = 20
	// maxValue is the maximum number of characters of a value that are shown.
	maxValue = 200
)

// Check is a query that the operator configured. It returns a row for each problem.
type Check struct {
	// Name of the check in findings, logs and metrics. Required.
	Name string `yaml:"name,omitempty"`
	// One query that returns a row for each problem, and no rows if all is well. The
	// query cannot change anything, and may take at most 10s. Names without a schema
	// are looked up in public. Required.
	SQL string `yaml:"sql,omitempty"`
}

// Validate checks the fields of a check without querying Postgres. Its error is
// option.Faults.
func (c Check) Validate() error {
	var check option.Check
	if c.Name == "" {
		check.Missing("name", "has no name")
	} else {
		check.Name("name", c.Name)
	}
	switch {
	case c.query() == "":
		check.Missing("sql", "has no sql; give a query that returns a row for each problem")
	case strings.ContainsRune(c.SQL, 0):
		check.Failf("sql", nil, "has a NUL character")
	case statement.Positionals(c.SQL) > 0:
		check.Failf("sql", nil, "has parameters like $1, for which there are no values; write the values into the query")
	}
	return check.Err()
}

// query returns the SQL without its final semicolons and white space.
func (c Check) query() string { return strings.TrimRight(c.SQL, "; \t\r\n") }
