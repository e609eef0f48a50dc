// Package cells asks all cells of an installation at once, and names the cells that do not answer
// in time. It also adds flags, such as --cell, to printed commands. The readiness check, the
// console and the command line use it.
package cells

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Patience is the maximum time that a cell may take to answer.
const Patience = 1500 * time.Millisecond

// Answer contains the answer of one cell. Err is the error with which the cell answered, or the
// reason why it did not answer in time.
type Answer[T any] struct {
	Cell  string
	Value T
	Err   error
}

// Ask calls the function ask for all cells simultaneously. It returns after at most patience, with
// the answers in the order of names. For a cell that has not answered by then, Answer.Err says so.
func Ask[T any](ctx context.Context, names []string, patience time.Duration, ask func(ctx context.Context, name string) (T, error)) []Answer[T] {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make([]Answer[T], len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			one := Answer[T]{Cell: name}
			came := make(chan struct{})
			var value T
			var err error
			go func() { // a slow call may return after Ask
				defer close(came)
				value, err = ask(ctx, name)
			}()
			select {
			case <-came:
				one.Value, one.Err = value, err
			case <-ctx.Done():
				one.Err = ctx.Err()
			}
			if errors.Is(one.Err, context.DeadlineExceeded) {
				one.Err = fmt.Errorf("no answer within %s", patience)
			}
			answers[i] = one
		})
	}
	asking.Wait()
	return answers
}

// Errors returns the errors in the answers, each with the name of the cell.
func Errors[T any](answers []Answer[T]) (errs []error) {
	for _, one := range answers {
		if one.Err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", one.Cell, one.Err))
		}
	}
	return errs
}

// Away returns a sentence about each cell whose answer is an error.
func Away[T any](answers []Answer[T]) (sentences []string) {
	for _, err := range Errors(answers) {
		sentences = append(sentences, err.Error())
	}
	return sentences
}
