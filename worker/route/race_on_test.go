//go:build race

package route

// raceDetector says that these tests were built with the race detector.
const raceDetector = true
