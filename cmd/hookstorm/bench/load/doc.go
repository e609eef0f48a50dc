// Package load is responsible for the client of a bench: it signs events as a
// provider does, posts them as fast as they are taken or at a constant rate, and
// takes the time of each.
package load
