package cells

import (
	"regexp"
	"strings"

	"github.com/hooklatch/hooklatch/internal/safetext"
)

// Main is the name of the cell whose database is in the section database of the configuration.
const Main = "main"

// commands matches the commands that read the configuration or connect to the database. The first
// group matches commands that work on the cell that --cell names, and not on all cells. The second
// group matches the other commands that declare --database-url. A command group, such as effects,
// matches only together with its verb. The commands dev and providers are missing: --config has
// another meaning for dev, and the output of providers does not depend on the configuration.
var commands = regexp.MustCompile(`\bhooklatch (?:` +
	`((?:alerts|backfill|destinations|effects|events|import|quarantine|retention|routes|runs) [\w.-]+|audit\b|find\b|repair\b)|` +
	`((?:logins|migrate) [\w.-]+|(?:check|gateway|serve|status|worker)\b)|` +
	`(?:cells [\w.-]+|init add\b|(?:init|mcp|ready|reload|send)\b))`)

// Flags are the flags that a process adds to the commands that it prints. A printed command then
// works on the same configuration, database and cell in the shell that started the process.
type Flags struct {
	Config      string
	DatabaseURL string // without a password, because the command is shown
	Cell        string
}

// AddTo adds the flags to the commands in a text. Each command gets only flags that it declares.
// Commands to which AddTo has already added the flags do not change.
func (f Flags) AddTo(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range commands.FindAllStringSubmatchIndex(text, -1) {
		if strings.HasSuffix(text[:at[0]], "usage: ") {
			continue // a usage text with [flags], not a command to run
		}
		inCell := at[2] >= 0
		words := f.words(inCell || at[4] >= 0, inCell)
		b.WriteString(text[end:at[1]])
		if end = at[1]; !strings.HasPrefix(text[end:], words) {
			b.WriteString(words)
		}
	}
	b.WriteString(text[end:])
	return b.String()
}

// words returns the flags for a shell, with a space before each.
func (f Flags) words(database, inCell bool) string {
	words := ""
	if f.Config != "" {
		words += " --config " + safetext.Shell(f.Config)
	}
	if database && f.DatabaseURL != "" {
		words += " --database-url " + safetext.Shell(f.DatabaseURL)
	}
	// The flag --cell is last: an AddTo without a cell then finds its own flags right after the
	// command, and does not add them again.
	if inCell && f.Cell != "" && f.Cell != Main {
		words += " --cell " + f.Cell
	}
	return words
}

// Commands adds --cell to the commands in a text, so that they work on the cell that the text
// describes. The text does not change without a cell, or for the main cell.
func Commands(text, cell string) string { return Flags{Cell: cell}.AddTo(text) }
