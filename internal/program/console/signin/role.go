// Package signin identifies callers of the admin listener, and decides what each caller may do.
package signin

import "slices"

// Role is a set of permissions. The zero Role has no permissions.
type Role string

// The roles, weakest first. Each role includes the permissions of the earlier roles.
const (
	Metrics  Role = "metrics"  // may read /metrics, but nothing else
	Viewer   Role = "viewer"   // may read
	Operator Role = "operator" // may act on one thing, or on a limited number of things
	Admin    Role = "admin"    // may do everything
)

// Roles returns all roles, weakest first.
func Roles() []Role { return []Role{Metrics, Viewer, Operator, Admin} }

// May reports whether r includes the needed role.
func (r Role) May(needed Role) bool {
	roles := Roles()
	at := slices.Index(roles, needed)
	return at >= 0 && slices.Index(roles, r) >= at
}
