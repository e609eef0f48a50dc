package cli

import (
	"io"

	"github.com/spf13/cobra"
)

func (c *cli) newLicenses() *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of the software in this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(c.Stdout, c.licenses)
			return err
		},
	}
}
