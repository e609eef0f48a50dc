package cells

import "regexp"

// Main is the name of the cell whose database is in the section database of the configuration.
const Main = "main"

// commands are the commands that work on the cell that --cell names, and not on all cells. A verb
// follows the name of a group.
var commands = regexp.MustCompile(`\bhooklatch (?:(?:alerts|backfill|destinations|effects|events|import|quarantine|retention|routes|runs) [\w.-]+|audit\b|find\b|repair\b)`)

// Commands adds --cell to the commands in a text, so that they work on the cell which the text is
// about. The text does not change without a cell, or for the main cell.
func Commands(text, cell string) string {
	if cell == "" || cell == Main {
		return text
	}
	return commands.ReplaceAllString(text, "$0 --cell "+cell)
}
