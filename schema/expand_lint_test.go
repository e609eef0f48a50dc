package schema_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// lastUnmarked is the last migration without a mark. Migrations up to it were applied before marks
// existed, and an applied migration is never edited. Every release contains them, so no released
// process runs while they are applied.
const lastUnmarked = 43

var (
	mark = regexp.MustCompile(`^-- (?:(expand)|contract \(since (\d+\.\d+)\))\r?\n`)

	comments = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/`)
	literals = regexp.MustCompile(`'(?:[^']|'')*'`)
	spaces   = regexp.MustCompile(`\s+`)

	createTable = regexp.MustCompile(`\bCREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([\w.]+)`)
	createIndex = regexp.MustCompile(`\bCREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?.*?\bON (?:ONLY )?([\w.]+)`)
	alterTable  = regexp.MustCompile(`\bALTER TABLE (?:IF EXISTS )?(?:ONLY )?([\w.]+) (.*)`)
	changeRows  = regexp.MustCompile(`\b(?:UPDATE (?:ONLY )?|DELETE FROM (?:ONLY )?|TRUNCATE (?:TABLE )?|INSERT INTO )([\w.]+)`)
	drop        = regexp.MustCompile(`\bDROP [A-Z]`)
	rename      = regexp.MustCompile(`\bRENAME\b|\bSET SCHEMA\b`)
	alterType   = regexp.MustCompile(`\bALTER (?:TYPE|DOMAIN)\b`)
	execute     = regexp.MustCompile(`\bEXECUTE\b`)

	dropConstraint = regexp.MustCompile(`^DROP CONSTRAINT (?:IF EXISTS )?(\w+)`)
	addConstraint  = regexp.MustCompile(`^ADD (?:CONSTRAINT (\w+) )?(?:CHECK|FOREIGN KEY|UNIQUE|PRIMARY KEY|EXCLUDE)\b`)
	columnType     = regexp.MustCompile(`^ALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b`)
	setNotNull     = regexp.MustCompile(`\bSET NOT NULL\b`)
	addColumn      = regexp.MustCompile(`^ADD (?:COLUMN )?(?:IF NOT EXISTS )?\w+ `)
	columnRule     = regexp.MustCompile(`\b(?:CHECK|REFERENCES|UNIQUE|PRIMARY KEY|GENERATED)\b|\b(?:SMALL|BIG)?SERIAL\b`)
	columnDefault  = regexp.MustCompile(`\bDEFAULT (.*)`)
	call           = regexp.MustCompile(`\b(\w+) ?\(`)
)

// lintMigration returns all reasons why a migration could break or block running processes of the
// previous version. isReleased reports whether a minor version, such as 1.4, was released.
func lintMigration(text string, isReleased func(minor string) bool) (found []string) {
	marked := mark.FindStringSubmatch(text)
	if marked == nil {
		return []string{"the first line must be `-- expand` or `-- contract (since 1.N)`, where 1.N is the first minor version whose programs use nothing that the migration removes"}
	}
	expands := marked[1] != ""
	if !expands && !isReleased(marked[2]) {
		found = append(found, marked[2]+" is not released: a migration contracts only after a minor version whose programs no longer use the removed objects")
	}
	if strings.Contains(strings.ToLower(text), "lock_timeout") {
		found = append(found, "the Migrator sets lock_timeout: a migration must not change it")
	}
	parts, hidden := sqlStatements(text)
	if hidden {
		found = append(found, "EXECUTE in a DO block hides a statement from this test")
	}
	ours := map[string]bool{} // tables that this migration creates; no process uses them yet
	for _, part := range parts {
		for _, table := range createTable.FindAllStringSubmatch(part, -1) {
			ours[table[1]] = true
		}
	}
	for _, part := range parts {
		add := func(format string, args ...any) {
			found = append(found, fmt.Sprintf(format, args...)+": "+part)
		}
		if alterType.MatchString(part) {
			add("a type is changed under the processes that use it")
		}
		if index := createIndex.FindStringSubmatch(part); index != nil && !ours[index[2]] {
			add("an index on an existing table is built with CONCURRENTLY after the migrations, as late_indexes.go does")
		}
		if rows := changeRows.FindStringSubmatch(part); rows != nil && !ours[rows[1]] && !strings.HasPrefix(part, "CREATE") {
			add("rows of an existing table are changed in batches by the programs, not by a migration")
		}
		if table := alterTable.FindStringSubmatch(part); table != nil {
			if !ours[table[1]] {
				for _, problem := range lintActions(actions(table[2]), expands) {
					add("%s", problem)
				}
			}
			continue
		}
		if expands && (drop.MatchString(part) || rename.MatchString(part)) {
			add("only a contract migration drops or renames")
		}
	}
	return found
}

// lintActions returns the mistakes in the actions of an ALTER TABLE on an existing table.
func lintActions(all []string, expands bool) (found []string) {
	var added []string // constraints that may replace dropped ones
	for _, action := range all {
		if is := addConstraint.FindStringSubmatch(action); is != nil && strings.Contains(action, "NOT VALID") {
			added = append(added, is[1])
		}
	}
	for _, action := range all {
		dropped := dropConstraint.FindStringSubmatch(action)
		replaced := dropped != nil && slices.Contains(added, dropped[1])
		switch {
		case expands && (drop.MatchString(action) && !replaced || rename.MatchString(action)):
			found = append(found, "only a contract migration drops or renames")
		case columnType.MatchString(action):
			found = append(found, "a column's type changes under the processes that use it; add another column")
		case setNotNull.MatchString(action):
			found = append(found, "SET NOT NULL reads the whole table under a lock; add CHECK (... IS NOT NULL) NOT VALID")
		case addConstraint.MatchString(action):
			if !strings.Contains(action, "NOT VALID") && !strings.Contains(action, "USING INDEX") {
				found = append(found, "a constraint reads the whole table under a lock; add it NOT VALID")
			}
		case addColumn.MatchString(action):
			found = append(found, lintColumn(action)...)
		}
	}
	return found
}

func lintColumn(action string) (found []string) {
	if columnRule.MatchString(action) {
		found = append(found, "a new column's constraint reads or rewrites the whole table under a lock")
	}
	value := columnDefault.FindStringSubmatch(action)
	if value == nil && strings.Contains(action, "NOT NULL") {
		found = append(found, "processes of the previous version write no value to a NOT NULL column; give it a default")
	}
	if value != nil {
		for _, name := range call.FindAllStringSubmatch(value[1], -1) {
			if name[1] != "NOW" { // a stable function is evaluated once
				found = append(found, "a volatile default rewrites the whole table under a lock; add the column without it, then ALTER COLUMN ... SET DEFAULT")
			}
		}
	}
	return found
}

// sqlStatements splits a migration into statements in upper case. It omits comments, the contents
// of strings and the bodies of functions, which run later. The body of a DO block runs at once, so
// its statements count. hidden is true if a DO block contains EXECUTE, which runs text as a
// statement.
func sqlStatements(text string) (all []string, hidden bool) {
	text = comments.ReplaceAllString(text, "")
	var rest strings.Builder
	for {
		before, after, quoted := strings.Cut(text, "$")
		rest.WriteString(before)
		if !quoted {
			break
		}
		tag, after, _ := strings.Cut(after, "$")
		body, after, _ := strings.Cut(after, "$"+tag+"$")
		if before = strings.TrimSpace(before); strings.HasSuffix(strings.ToUpper(before), "DO") {
			hidden = hidden || execute.MatchString(strings.ToUpper(literals.ReplaceAllString(body, "")))
			rest.WriteString("; " + body)
		}
		text = after
	}
	plain := literals.ReplaceAllString(rest.String(), "''")
	for part := range strings.SplitSeq(plain, ";") {
		if part = strings.TrimSpace(spaces.ReplaceAllString(strings.ToUpper(part), " ")); part != "" {
			all = append(all, part)
		}
	}
	return all, hidden
}

// actions splits the actions of an ALTER TABLE at the commas outside parentheses.
func actions(text string) (all []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			all = append(all, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(all, strings.TrimSpace(text[from:]))
}
