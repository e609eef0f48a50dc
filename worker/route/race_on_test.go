//go:build race

package route

// raceDetector reports that these tests were built with the race detector.
const raceDetector = true
