// Package ondemand does work in goroutines that exist only while something waits: none of
// it has to be started, and what is idle costs nothing.
//
// A Reader lets callers that query the database at the same time share one statement. A
// Runner collects work that comes in small pieces and does it in large ones: at once after
// a quiet time, and else after a pause.
package ondemand
