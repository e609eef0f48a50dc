//go:build !race

package route

// raceDetector is false: these tests were built without the race detector.
const raceDetector = false
