// Package load posts the events of a bench. It signs them as a provider does, sends them as
// fast as they are accepted or at a constant rate, and measures the time of each.
package load
