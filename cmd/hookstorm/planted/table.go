package planted

import (
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
)

// Cases returns all cases, in the order of bugs.All.
func Cases() []Case {
	all := slices.Concat(accepting(), dispatching(), performing(), keeping())
	for i, c := range all {
		for _, m := range bugs.Mutants() {
			if m.Name == string(c.Bug) {
				all[i].Schedule = m.Schedule
			}
		}
	}
	return all
}

// CaseOf returns the case of a bug.
func CaseOf(bug bugs.Bug) (_ Case, found bool) {
	for _, c := range Cases() {
		if c.Bug == bug {
			return c, true
		}
	}
	return Case{}, false
}
