package destination

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/option"
)

// SQLOptions configure the statements that effects of kind "sql" run in the ledger's Postgres.
type SQLOptions struct {
	// Name is the destination's name in the configuration. Required.
	Name string `yaml:"-"`
	// SQL statements by name, with parameters $1, $2 and so on; at least one is required. Each entry
	// is a single statement. Parameters are text, so cast them where Postgres cannot infer the type,
	// like $1::jsonb.
	Statements map[string]string `yaml:"statements,omitempty"`
	// Postgres role that runs the statements. The role of database.url must be a member of
	// this role. Defaults to the role of database.url.
	Role string `yaml:"role,omitempty"`
	// Schemas in which the statements find unqualified names, in this order. The search_path of the
	// connection and its role is ignored. Otherwise a role that may create objects in a schema of
	// that search_path could decide what a name means. Defaults to public.
	SearchPath []string `yaml:"search_path,omitempty"`
	// Timeout limits one statement. Defaults to DefaultTimeout.
	Timeout time.Duration `yaml:"-"`
	// TracerProvider creates a span for each statement; nil for no spans.
	TracerProvider trace.TracerProvider `yaml:"-"`
}

// WithDefaults returns a copy with the defaults filled in.
func (o SQLOptions) WithDefaults() SQLOptions {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if len(o.SearchPath) == 0 {
		o.SearchPath = []string{"public"}
	}
	return o
}

// Validate checks options whose defaults are filled in. Its error is option.Faults.
func (o SQLOptions) Validate() error {
	var c option.Check
	if len(o.Statements) == 0 {
		c.Missing("statements", "has no statements; give at least one, by name")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Statements)) {
		field, text := "statements."+name, o.Statements[name]
		c.Name(field, name)
		switch {
		case strings.TrimSpace(text) == "":
			c.Failf(field, nil, "is empty; an SQL statement is expected")
		case strings.ContainsRune(text, 0):
			c.Failf(field, nil, "has a NUL character")
		}
	}
	if strings.ContainsRune(o.Role, 0) {
		c.Failf("role", nil, "has a NUL character")
	}
	for i, schema := range o.SearchPath {
		if schema == "" || strings.ContainsRune(schema, 0) {
			c.Failf(element("search_path", i), nil, "is empty, or has a NUL character")
		}
	}
	c.Positive("timeout", o.Timeout)
	return c.Err()
}
