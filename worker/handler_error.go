package worker

import (
	"errors"
	"time"
)

// RetryIn says that the event is to be dispatched again after d, instead of
// when the usual backoff would. Like every error of a handler it rolls back
// what was written, and counts as one of the event's 25 attempts. A nil cause
// is allowed.
func RetryIn(d time.Duration, cause error) error { return &retryInError{wait: d, cause: cause} }

type retryInError struct {
	wait  time.Duration
	cause error
}

func (e *retryInError) Error() string {
	if e.cause == nil {
		return "again in " + e.wait.String()
	}
	return e.cause.Error() + ", again in " + e.wait.String()
}

func (e *retryInError) Unwrap() error { return e.cause }

// GiveUp says that trying again is useless: what was written is rolled back,
// and the event is failed at once, with the reason. A person can replay it.
func GiveUp(reason string) error { return &giveUpError{reason: reason} }

type giveUpError struct{ reason string }

func (e *giveUpError) Error() string { return "given up: " + e.reason }

// retryWait is how long an error asks to wait.
func retryWait(err error) (time.Duration, bool) {
	asked, ok := errors.AsType[*retryInError](err)
	if !ok {
		return 0, false
	}
	return max(asked.wait, minSnooze), true
}

func isGivenUp(err error) bool {
	_, ok := errors.AsType[*giveUpError](err)
	return ok
}
