// Package rule is responsible for the rules about rows that statements of several
// packages apply: what keeps a later effect waiting, what should have a job and
// has none (I5), what waits for a person, and how a row that was locked is found again.
// Each stands once, as a fragment that statement.Load puts where it belongs, so that what
// finds a row, what repairs it and what reports it cannot come to differ.
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
