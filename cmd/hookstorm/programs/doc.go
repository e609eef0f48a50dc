// Package programs runs a run's processes. It builds their binaries, starts, stops, kills, pauses
// and reloads them. It records every start and every end, whether or not hookstorm caused it.
package programs
