// Package load posts the events of a bench. It signs the events as a provider does, and measures
// the time of each delivery. It sends them as fast as they are accepted, or at a constant rate.
package load
