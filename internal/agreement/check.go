// Package agreement checks whether an application's tables agree with the accepted
// events. It runs the user's own queries, which change nothing, take a bounded time and
// return a bounded number of rows.
package agreement

import (
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/statement"
)

// Limits of a check.
const (
	// Timeout is how long a check may take on the server.
	Timeout = 10 * time.Second
	// lockTimeout is how long it waits for a lock, which readers seldom do.
	lockTimeout = 2 * time.Second
	// answerSlack is how long the answer may take beyond Timeout before the connection is
	// closed.
	answerSlack = 2 * time.Second
	// MaxCount is the number up to which rows are counted.
	MaxCount = 1000
	// MaxShown is how many rows are shown.
	MaxShown = 20
	// maxValue is how many characters of a value are shown.
	maxValue = 200
)

// Check is a query of the user's own. It returns a row for each problem.
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
		check.Missing("sql", "has no sql; give a query that returns a row for each thing that is wrong")
	case strings.ContainsRune(c.SQL, 0):
		check.Failf("sql", nil, "has a NUL character")
	case statement.Positionals(c.SQL) > 0:
		check.Failf("sql", nil, "has parameters like $1, and there is nothing to put there; write the values")
	}
	return check.Err()
}

// query is the SQL without its final semicolons and white space.
func (c Check) query() string { return strings.TrimRight(c.SQL, "; \t\r\n") }
