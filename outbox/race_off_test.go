//go:build !race

package outbox

// raceDetector reports whether these tests were built with the race detector.
const raceDetector = false
