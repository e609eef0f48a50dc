package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/retry"
)

// An operation is tried until it succeeds, fails permanently, or reaches the maximum number of
// tries.
func ExamplePauses_Until() {
	errBusy := errors.New("busy")
	answers := []error{errBusy, errBusy, nil}
	call := func() error {
		answer := answers[0]
		answers = answers[1:]
		return answer
	}

	var err error
	for pause := range (retry.Pauses{First: time.Millisecond, Max: time.Second, Tries: 5}).Until(context.Background()) {
		if err = call(); !errors.Is(err, errBusy) {
			break
		}
		fmt.Println("busy, again in", pause)
	}
	fmt.Println(err)
	// Output:
	// busy, again in 1ms
	// busy, again in 2ms
	// <nil>
}
