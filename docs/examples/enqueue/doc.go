// Package enqueue shows how an application commits effects with its own writes: enqueue.sql through
// psql, node/enqueue.js through node-postgres. A Go program calls EnqueueTx of package outbox.
package enqueue
