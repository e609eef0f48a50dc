// Package app assembles gateway, worker and admin listener into one process. It stops everything
// that it started, in reverse order.
//
// The database may be unavailable at the start of the process and later. Until the database is
// known to be migrated, the gateway answers 503 with Retry-After and /readyz fails. No restart is
// needed when the database is available again. If the database is available but not migrated, the
// process migrates it with Options.Migrate, waits with Options.AwaitMigrations, or fails.
package app
