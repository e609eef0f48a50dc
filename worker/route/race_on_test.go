//go:build race

package route

// raceDetector is true: these tests were built with the race detector.
const raceDetector = true
