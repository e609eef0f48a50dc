// Package leaks finds goroutines that tests left behind. goleak alone waits less than half a second
// for goroutines to end, which is too short on a busy machine.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is the maximum time that goroutines may take to end after the tests.
const patience = time.Minute

// Main runs the tests of a package and returns the exit code. The code is 1 if the tests pass but
// leave a goroutine behind.
func Main(m *testing.M, options ...goleak.Option) int {
	code := m.Run()
	if code == 0 {
		if err := Find(options...); err != nil {
			fmt.Fprintf(os.Stderr, "leaks: %v\n", err)
			code = 1
		}
	}
	return code
}

// Find returns an error that describes the goroutines that do not end within a minute.
func Find(options ...goleak.Option) error { return find(patience, options) }

func find(patience time.Duration, options []goleak.Option) error {
	for over := time.Now().Add(patience); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(over) {
			return err
		}
	}
}
