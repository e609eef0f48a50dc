// Package load posts the events of a bench: it signs them as a provider does, sends them
// as fast as they are taken or at a constant rate, and takes the time of each.
package load
