// Package application is responsible for what users of Hooklatch do beside it: a
// program of their own with handlers, effects that their transactions enqueue, and
// what people order.
package application
