package main

import "fmt"

// Accepts tells whether the program takes a command line, without running it.
func Accepts(args []string) error {
	root := newRoot(&process{name: testName})
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	if cmd.HasSubCommands() {
		return fmt.Errorf("%s is not a whole command", cmd.CommandPath())
	}
	return nil
}
