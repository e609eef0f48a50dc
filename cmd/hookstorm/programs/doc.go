// Package programs is responsible for the processes of a run: it builds their
// binaries, starts, stops, kills, pauses and reloads them, and writes down every
// start and every end, ordered or not.
package programs
