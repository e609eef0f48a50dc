// Package ondemand does work in goroutines that exist only while work waits. Nothing has to be
// started, and an idle Reader or Runner costs nothing.
//
// A Reader lets callers that query the database at the same time share one statement. A Runner
// collects small pieces of work and does them together: immediately after a quiet time, otherwise
// after a pause.
package ondemand
