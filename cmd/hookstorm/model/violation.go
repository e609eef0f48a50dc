package model

import (
	"fmt"
	"strings"
)

// String describes the violation, with one step per line.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nIn the world %q it is broken by %d steps:\n", v.Invariant, v.World.Name, len(v.Trace))
	for i, step := range v.Trace {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, step)
	}
	switch {
	case v.Circle != nil:
		b.WriteString("and then forever:\n")
		for i, step := range v.Circle {
			fmt.Fprintf(&b, "%4d  %s\n", len(v.Trace)+i+1, step)
		}
	case v.Invariant == I5:
		b.WriteString("and then nothing more happens, although work is left.\n")
	}
	return b.String()
}
