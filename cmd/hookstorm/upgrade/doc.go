// Package upgrade tests upgrades from an earlier version: it replaces running processes under load,
// puts the earlier version back, and counts what was lost or doubled. It also checks that users
// find everything that they relied on.
package upgrade

// Previous is the commit with which this tree must be compatible. Until the first release, it is
// the last commit before the work on that release. That commit is the newest one that users may
// have built from source. The tag of the first release replaces it.
const Previous = "9e293c813838f24bb40eec33b7a6f3d59d5c0adf"
