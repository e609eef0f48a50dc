// Package signin identifies who calls the admin listener, and decides what this person
// may do.
package signin

import "slices"

// Role is what somebody may do. The zero Role may nothing.
type Role string

// The roles, each of which may all that those before it may.
const (
	Metrics  Role = "metrics"  // reads /metrics and nothing else
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // does what concerns one thing, or a bounded number of them
	Admin    Role = "admin"    // everything
)

// Roles are all of them, the weakest first.
func Roles() []Role { return []Role{Metrics, Viewer, Operator, Admin} }

// May reports whether r includes what is needed.
func (r Role) May(needed Role) bool {
	roles := Roles()
	at := slices.Index(roles, needed)
	return at >= 0 && slices.Index(roles, r) >= at
}
