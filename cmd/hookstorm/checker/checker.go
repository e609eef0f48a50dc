// Package checker is responsible for judging a run of hookstorm by its history
// alone: whether every promise of docs/guarantees.md was kept to every event,
// effect and order in it.
package checker
