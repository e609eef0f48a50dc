package cli

import (
	"os/user"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// operatorFlags name the operator and the reason of an action, for the operator log.
type operatorFlags struct{ as, reason string }

func (f *operatorFlags) register(cmd *cobra.Command) {
	f.registerWho(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "`reason` for the action, stored in the operator log")
}

// registerWho declares only --as, for actions that are recorded without a reason.
func (f *operatorFlags) registerWho(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.as, "as", "", "operator's `name`, stored in the operator log (default the operating system's user)")
}

func (f *operatorFlags) operator() ledger.Operator {
	who := f.as
	if who == "" {
		who = SystemUser()
	}
	return ledger.Operator{Who: who, Via: "cli", Reason: f.reason}
}

// SystemUser returns the name of the operating system's user, or "unknown".
func SystemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
