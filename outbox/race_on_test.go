//go:build race

package outbox

// raceDetector says that these tests were built with the race detector.
const raceDetector = true
