// Package enqueue shows how an application commits effects with its own writes: enqueue.sql does it through psql, node/enqueue.js through
// node-postgres; a Go program calls EnqueueTx of package outbox.
package enqueue
