package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// operatorFlags say who orders an action, and why, for the operator log.
type operatorFlags struct{ as, reason string }

func (f *operatorFlags) register(cmd *cobra.Command) {
	f.registerWho(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the record")
}

// registerWho is for orders whose record has no place for a reason.
func (f *operatorFlags) registerWho(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.as, "as", "", "`name` of the person who orders it, for the record (default the user of the operating system)")
}

func (f *operatorFlags) operator() ledger.Operator {
	who := f.as
	if who == "" {
		who = systemUser()
	}
	return ledger.Operator{Who: who, Via: "cli", Reason: f.reason}
}

// systemUser is the user of the operating system.
func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

// order is what a command has done to one thing, by a person's word.
type order struct {
	action ledger.Action
	done   string // what the thing is then
	// tell says what the thing is then where that depends on more than the order.
	tell    func(ctx context.Context, o *outbox.Outbox, target string) (string, error)
	do      func(*outbox.Outbox, context.Context, string, ledger.Operator) error
	unknown func(target string) error // when there is no such thing
}

// orderView is what came of an order about one thing, as --json prints it.
type orderView struct {
	Action ledger.Action `json:"action"`
	Target string        `json:"target"`
	Result string        `json:"result"`
}

func (c *cli) carryOut(ctx context.Context, o *outbox.Outbox, what order, target string, by ledger.Operator) error {
	err := what.do(o, ctx, target, by)
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrUnknownDestination) {
		return what.unknown(target)
	}
	if err != nil {
		return err
	}
	done := what.done
	if what.tell != nil {
		if done, err = what.tell(ctx, o, target); err != nil {
			return err
		}
	}
	if c.asJSON {
		return printJSON(c.stdout, orderView{Action: what.action, Target: target, Result: done})
	}
	_, err = fmt.Fprintf(c.stdout, "%s is %s\n", safetext.Shown(target), done)
	return err
}
