// Package programs runs the processes of a run: it builds their binaries, starts, stops,
// kills, pauses and reloads them, and records every start and every end, ordered or not.
package programs
