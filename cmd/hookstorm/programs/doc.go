// Package programs manages the processes of a run. It builds the binaries, and starts, stops,
// kills, pauses and reloads the processes. It records every start and every end, whether or not
// hookstorm caused it.
package programs
