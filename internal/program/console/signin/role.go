// Package signin identifies who calls the admin listener, and decides what this person
// may do.
package signin

import "slices"

// Role is a set of permissions. The zero Role has none.
type Role string

// All roles. Each includes the permissions of the ones before it.
const (
	Metrics  Role = "metrics"  // reads /metrics and nothing else
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // acts on one thing, or on a limited number of them
	Admin    Role = "admin"    // everything
)

// Roles returns all roles, the weakest first.
func Roles() []Role { return []Role{Metrics, Viewer, Operator, Admin} }

// May reports whether r includes the needed role.
func (r Role) May(needed Role) bool {
	roles := Roles()
	at := slices.Index(roles, needed)
	return at >= 0 && slices.Index(roles, r) >= at
}
