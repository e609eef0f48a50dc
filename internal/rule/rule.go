// Package rule holds the rules about rows that several packages' statements apply. The rules
// define, for example, when an effect makes later effects wait, which jobs are live, which sources
// no worker serves, and how to find a locked row again. Each rule exists once, as a fragment that
// statement.Load inserts, so that the statements that find, repair and report a row cannot differ.
package rule

import (
	"embed"
	"io/fs"
)

// MostAside limits two counts for each destination: the count of its failed effects, and the count
// of its parked effects.
const MostAside = 10_000

//go:embed *.sql
var fragments embed.FS

// Fragments returns the rules, for statement.Load.
func Fragments() fs.FS { return fragments }
