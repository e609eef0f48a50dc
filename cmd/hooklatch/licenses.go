package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// licenses are the licences of all software in the binary; package notices writes them.
//
//go:embed licenses.txt
var licenses string

func (c *cli) newLicenses() *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of the software in this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(c.stdout, licenses)
			return err
		},
	}
}
