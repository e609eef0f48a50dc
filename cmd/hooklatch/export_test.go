package main

import "fmt"

// Accepts checks whether the program accepts a command line, without running it.
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

// HasCommand reports whether words begin with a command's name, and a subcommand's name if the
// command has any.
func HasCommand(words []string) bool {
	root := newRoot(&process{name: testName})
	root.InitDefaultCompletionCmd() // Cobra adds the completion command when the program runs
	cmd, rest, err := root.Find(words)
	return err == nil && cmd.HasParent() && (len(rest) == 0 || cmd.Args(cmd, rest) == nil)
}

// AsProgram in the environment makes the test binary run as the program.
const AsProgram = asProgram
