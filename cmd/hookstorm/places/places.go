// Package places lists every failpoint of the program.
package places

import (
	_ "embed"
	"strings"

	"github.com/hooklatch/hooklatch/internal/failpoint"
)

//go:generate go test . -run ^TestListHasEveryPlace$ -update

//go:embed places.txt
var list string

// All returns the names of all failpoints, sorted.
func All() []string { return strings.Fields(list) }

// Transactions returns the names of all transactions that have failpoints, sorted.
func Transactions() []string {
	var names []string
	for _, place := range All() {
		if name, found := strings.CutSuffix(place, "."+string(failpoint.Begin)); found {
			names = append(names, name)
		}
	}
	return names
}
