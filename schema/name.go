package schema

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Default is the Postgres schema that holds our tables and River's when the
// configuration does not say otherwise.
const Default Name = "hooklatch"

// maxNameLen leaves room for ".river_leadership" in a 63-byte notification
// topic, the longest one River derives from the schema name.
const maxNameLen = 46

// reservedWords are the key words of Postgres 14 to 18 that no schema may be called without
// quotes, as pg_get_keywords tells them.
//
//go:embed reserved_words.txt
var reservedWords string

var namePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Name is the Postgres schema Hooklatch lives in. It is restricted to names
// that never need quoting, so it can stand in SQL text as it is.
type Name string

// OrDefault returns n, or Default when n is empty.
func (n Name) OrDefault() Name {
	if n == "" {
		return Default
	}
	return n
}

// Validate says why n cannot be used as a schema name.
func (n Name) Validate() error {
	if len(n) > maxNameLen {
		return fmt.Errorf("schema name %q has %d characters, at most %d are allowed", string(n), len(n), maxNameLen)
	}
	if !namePattern.MatchString(string(n)) {
		return fmt.Errorf("schema name %q must consist of lower-case letters, digits and underscores and must not begin with a digit", string(n))
	}
	if strings.HasPrefix(string(n), "pg_") {
		return fmt.Errorf("schema name %q begins with pg_: Postgres keeps such names for itself", string(n))
	}
	if slices.Contains(strings.Fields(reservedWords), string(n)) {
		return fmt.Errorf("schema name %q is a reserved word of SQL: choose another one, like %s_hooks", string(n), n)
	}
	return nil
}

// SQL returns text with every "hooklatch." replaced by this schema. All SQL of
// this repository is written for the default schema, so that a statement can
// be read, and pasted into psql, as it stands in its file.
func (n Name) SQL(text string) string {
	if n == Default {
		return text
	}
	return strings.ReplaceAll(text, string(Default)+".", string(n)+".")
}
