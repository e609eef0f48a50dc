// Package app assembles gateway, worker and admin listener into one process:
// what it starts it stops, in the opposite order.
//
// The database may be away when the process starts, and go away later. Until it
// has been seen migrated the gateway answers 503 with Retry-After and /readyz
// fails; nothing has to be restarted when it comes back. A database that is
// there but not migrated ends the start with an error.
package app
