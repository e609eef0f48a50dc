package schema

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Default is the Postgres schema that contains our tables and River's unless the
// configuration names another.
const Default Name = "hooklatch"

// maxNameLen leaves room for ".river_leadership" in a notification topic, which has at most 63
// bytes. This suffix is the longest that River appends to the schema name.
const maxNameLen = 46

// reservedWords lists the key words of Postgres 14 to 18 that cannot name a schema without quotes,
// according to pg_get_keywords.
//
//go:embed reserved_words.txt
var reservedWords string

var namePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Name is the name of the Postgres schema that contains Hooklatch's tables. It is restricted to
// names that never need quoting, so that it can be used in SQL text unchanged.
type Name string

// OrDefault returns n, or Default if n is empty.
func (n Name) OrDefault() Name {
	if n == "" {
		return Default
	}
	return n
}

// Validate returns an error that explains why n cannot be a schema name, or nil.
func (n Name) Validate() error {
	if len(n) > maxNameLen {
		return fmt.Errorf("schema name %q has %d characters; at most %d are allowed", string(n), len(n), maxNameLen)
	}
	if !namePattern.MatchString(string(n)) {
		return fmt.Errorf("schema name %q must consist of lower-case letters, digits and underscores and must not begin with a digit", string(n))
	}
	if strings.HasPrefix(string(n), "pg_") {
		return fmt.Errorf("schema name %q begins with pg_: Postgres reserves such names", string(n))
	}
	if slices.Contains(strings.Fields(reservedWords), string(n)) {
		return fmt.Errorf("schema name %q is a reserved word in SQL: choose another name, such as %s_hooks", string(n), n)
	}
	return nil
}

// SQL returns text with every "hooklatch." replaced by this schema. All SQL in this repository
// is written for the default schema. A statement can therefore be read, and pasted into psql,
// as it is in its file.
func (n Name) SQL(text string) string {
	if n == Default {
		return text
	}
	return strings.ReplaceAll(text, string(Default)+".", string(n)+".")
}
