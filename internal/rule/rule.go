// Package rule holds the rules about rows that statements of several packages apply:
// what keeps a later effect waiting, what should have a job and has none (I5), what
// needs attention, and how a locked row is found again. Each rule exists once, as a
// fragment that statement.Load inserts, so that the statements that find, repair and
// report a row cannot differ.
package rule

import (
	"embed"
	"io/fs"
)

// MostAside is up to how many failed, and how many parked, effects of a destination are
// counted.
const MostAside = 10_000

//go:embed *.sql
var fragments embed.FS

// Fragments are the rules, for statement.Load.
func Fragments() fs.FS { return fragments }
