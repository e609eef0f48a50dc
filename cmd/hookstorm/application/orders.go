package application

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// person is the operator's name in the operator log.
const person = "hookstorm"

// notDoneError is returned for an action that failed. If certain is true, the action was certainly
// not carried out. Otherwise it may have been.
type notDoneError struct {
	err     error
	certain bool
}

func (e *notDoneError) Error() string { return e.err.Error() }
func (e *notDoneError) Unwrap() error { return e.err }

// apiOrders carries out actions through the Go API.
type apiOrders struct{ box *outbox.Outbox }

func (a *apiOrders) carryOut(ctx context.Context, order *history.Order, reason string) error {
	by := ledger.Operator{Who: person, Via: "api", Reason: reason}
	var err error
	switch order.Action {
	case actionReplay:
		var replayed inbox.Replayed
		ref := identity.EventRef{Source: identity.Source(order.Source), EventID: identity.EventID(order.EventID)}
		replayed, err = a.box.Inbox().Replay(ctx, ref, by, inbox.ReplayOptions{NewKeys: order.NewKeys})
		order.Generation, order.Affected = replayed.Generation, int64(replayed.Reopened)
	case actionErase:
		ref := identity.EventRef{Source: identity.Source(order.Source), EventID: identity.EventID(order.EventID)}
		_, err = a.box.Erasure().Event(ctx, ref, by, erasure.Order{})
	case actionRetry:
		err = a.box.Ledger().Retry(ctx, order.Key, by)
	case actionCancel:
		err = a.box.Ledger().Cancel(ctx, order.Key, by)
	case actionPause, actionResume:
		err = a.box.Fleet().SetPaused(ctx, order.Destination, order.Action == actionPause, by)
	default:
		return &notDoneError{err: fmt.Errorf("unknown operator action %s", order.Action), certain: true}
	}
	if err == nil {
		return nil
	}
	return &notDoneError{err: err, certain: Refused(err)}
}

// Refused reports whether an error of the Go API means that the API checked the action and refused
// it. After any other error, the action may have been carried out.
func Refused(err error) bool {
	_, wrongState := errors.AsType[*ledger.StateError](err)
	_, unfinished := errors.AsType[*erasure.UnfinishedError](err)
	return wrongState || unfinished || slices.ContainsFunc([]error{
		ledger.ErrNotFound, ledger.ErrNotResendable, ledger.ErrUnknownDestination, inbox.ErrNotHeld, inbox.ErrNotReplayable, fleet.ErrServed,
	}, func(refusal error) bool { return errors.Is(err, refusal) })
}

// cliOrders carries out actions on the command line, as operators do.
type cliOrders struct{ binary, config string }

func (c *cliOrders) carryOut(ctx context.Context, order *history.Order, reason string) error {
	var command, targets []string
	switch order.Action {
	case actionReplay:
		command, targets = []string{"events", "replay"}, []string{order.Source, order.EventID}
		if order.NewKeys {
			command = append(command, "--new-keys")
		}
	case actionErase:
		command, targets = []string{"events", "erase", "--yes"}, []string{order.Source, order.EventID}
	case actionRetry, actionCancel:
		command, targets = []string{"effects", order.Action}, []string{order.Key}
	case actionPause, actionResume:
		command, targets = []string{"destinations", order.Action}, []string{order.Destination}
	default:
		return &notDoneError{err: fmt.Errorf("unknown operator action %s", order.Action), certain: true}
	}
	// An event's id may look like a flag.
	args := slices.Concat(command, []string{"--config", c.config, "--as", person, "--reason", reason, "--"}, targets)
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Env = programs.Environment()
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		return &notDoneError{err: fmt.Errorf("%w: %s", err, text), certain: ctx.Err() == nil && saysRefused(text)}
	}
	return nil
}

// refusals lists parts of error messages. Each part proves that a command was refused and changed
// nothing.
var refusals = []string{"the effect is ", "the request of the effect ", "there is no ", "not finished: ", inbox.ErrNotReplayable.Error()}

func saysRefused(text string) bool {
	for _, refusal := range refusals {
		if strings.Contains(text, refusal) {
			return !strings.Contains(text, outbox.ErrUnavailable.Error())
		}
	}
	return false
}
