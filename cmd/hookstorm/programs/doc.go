// Package programs runs the processes of a run. It builds their binaries, starts, stops,
// kills, pauses and reloads them, and records every start and every end, whether hookstorm
// caused it or not.
package programs
