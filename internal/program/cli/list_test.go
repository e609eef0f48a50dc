package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// A printed command has the same flags as the command that printed it, whatever their type.
func TestAPrintedCommandHasTheFlagsOfItsCommand(t *testing.T) {
	t.Parallel()
	continued := func(cmd *cobra.Command) string { return commandFrom(cmd, "c") }
	carriedOut := func(cmd *cobra.Command) string { return commandFor(cmd, nil, false) }
	for path, printed := range map[string]func(*cobra.Command) string{
		"events list": continued, "effects list": continued, "audit": continued, "find": continued, "routes diff": continued,
		"effects retry": carriedOut, "effects cancel": carriedOut, "effects park": carriedOut,
	} {
		parsed := func(words ...string) *cobra.Command {
			cmd, _, err := NewRoot(&Process{Name: ProgramName}).Find(strings.Fields(path))
			require.NoError(t, err)
			require.NoError(t, cmd.ParseFlags(words), words)
			return cmd
		}
		parsed().Flags().VisitAll(func(f *pflag.Flag) {
			values := map[string][]string{"bool": {"true", "false"}, "int": {"7"}, "float64": {"1.5"}, "stringSlice": {"a,b"}}[f.Value.Type()]
			switch f.Name {
			case "cursor", "help", "yes", "json", "database-url":
				return
			}
			if values == nil {
				values = []string{"it's, one"}
			}
			for _, value := range values {
				cmd := parsed("--" + f.Name + "=" + value)
				line := printed(cmd)
				out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+line).Output()
				require.NoError(t, err, line)
				words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
				require.Equal(t, strings.Fields(ProgramName+" "+path), words[:len(strings.Fields(path))+1])
				again := parsed(words[len(strings.Fields(path))+1:]...)
				require.Equal(t, cmd.Flags().Lookup(f.Name).Value.String(), again.Flags().Lookup(f.Name).Value.String(), line)
			}
		})
	}
}
