// Package application simulates a user of Hooklatch: a program with handlers, effects that its
// transactions enqueue, and an operator.
package application
