package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// MayBeEmpty are the flags whose empty value does not change what a command works on.
var MayBeEmpty = []string{"as", "reason", "name", "log-level", "log-format"}

// refuseEmpty rejects a flag that was set to an empty text, for commands that work on stored rows.
// For example, the variable in --contains "$EMAIL" may be unset. Without the filter, the command
// would select every row.
func refuseEmpty(cmd *cobra.Command) (err error) {
	if cmd.Flags().Lookup("cell") == nil {
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.String() == ""
		if list, is := f.Value.(pflag.SliceValue); is {
			empty = len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
		}
		if empty && err == nil && !slices.Contains(MayBeEmpty, f.Name) {
			err = misused("--%s is empty: give a value or omit the flag", f.Name)
		}
	})
	return err
}
