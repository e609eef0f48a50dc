package hooktest

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is a trouble that a handler does not withstand.
type Finding struct {
	Trouble Trouble
	// Story describes what happened, in a sentence.
	Story string
	// Want is the state after undisturbed deliveries. Got is the state after the trial, or empty
	// after a Failure.
	Want, Got string
	// Failure is the reason why the events were not handled completely, or nil if they were.
	Failure error
}

// String returns the story and its result. Missing lines begin with a minus, unexpected ones
// with a plus.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s.\n", f.Trouble, f.Story)
	if f.Failure != nil {
		return text + "The handler does not come to an end: " + f.Failure.Error()
	}
	return text + f.verdict() + "\n" + differences(f.Want, f.Got)
}

// verdict describes the mistake of the handler that this trouble reveals.
func (f Finding) verdict() string {
	switch f.Trouble {
	case Late, Shuffled:
		return "Events that arrive in the wrong order are applied in the wrong order: an older event overwrote a newer one, or an event needed one that arrived later."
	case AllAtOnce:
		return "Handlers that ran in parallel were in each other's way: one read what another was changing, or the state depended on their order."
	case TwiceAtOnce, Crashed:
		return "Something happened more than once: it was not done with tx, and so not rolled back with it."
	case TwoIDs, Replayed:
	}
	return "Something happened more than once: the handler adds to the stored state instead of setting the new state."
}

// differences lists the lines that are only in want, and then the lines that are only in got.
func differences(want, got string) string {
	wanted, found := strings.Split(want, "\n"), strings.Split(got, "\n")
	var text strings.Builder
	list := func(sign string, lines, others []string) {
		others = slices.Clone(others)
		for _, line := range lines {
			if i := slices.Index(others, line); i >= 0 {
				others = slices.Delete(others, i, i+1)
				continue
			}
			text.WriteString("  " + sign + " " + line + "\n")
		}
	}
	list("-", wanted, found)
	list("+", found, wanted)
	if text.Len() == 0 {
		return "  the same lines, in another order:\n" + got
	}
	return strings.TrimSuffix(text.String(), "\n")
}
