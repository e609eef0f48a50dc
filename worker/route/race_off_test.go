//go:build !race

package route

// raceDetector reports that these tests were built without the race detector.
const raceDetector = false
