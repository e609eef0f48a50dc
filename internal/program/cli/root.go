package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	ExitOK      = 0
	ExitFailed  = 1 // a failure, or problems were found
	ExitMisused = 2 // a mistake in the command line
)

// errFound is the error of a command that has already printed the problems that it found.
var errFound = errors.New("problems were found")

// usageError is a mistake in the command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func misused(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// Execute runs the command line and returns the exit code.
func Execute(ctx context.Context, p *Process, args []string) int {
	c := &cli{Process: p}
	root := c.newRoot()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = p.misuse
	}
	if err == nil {
		return ExitOK
	}
	if errors.Is(err, errFound) {
		return ExitFailed
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	c.complain(err)
	// Cobra's errors occur before the command starts.
	if _, wrong := errors.AsType[*usageError](err); wrong || !p.started {
		fmt.Fprintf(p.Stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return ExitMisused
	}
	return ExitFailed
}

// complain writes an error to stderr, with the program's name before each line. The cell of c is
// not added to the commands in the error, because some of them search all cells.
func (c *cli) complain(err error) {
	for line := range strings.Lines(c.inCell("").flags().AddTo(err.Error())) {
		fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, strings.TrimRight(line, "\n"))
	}
}

// NewRoot returns the tree of commands for a process.
func NewRoot(p *Process) *cobra.Command { return (&cli{Process: p}).newRoot() }

// newRoot returns the tree of commands, whose flags set the fields of c.
func (c *cli) newRoot() *cobra.Command {
	p := c.Process
	root := &cobra.Command{
		Use:   ProgramName,
		Short: "Webhooks in once, effects out once, on Postgres",
		Long: `Hooklatch receives webhooks, verifies who sent them, commits each event once in
Postgres together with the job that will process it, and only then answers 2xx.
Workers then perform the effects, each under its own idempotency key.

Start with: ` + p.Name + ` dev`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: p.Name},
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			p.started = true
			return refuseEmpty(cmd)
		},
		RunE:    needsCommand,
		Version: p.readBuild().String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	flags := root.PersistentFlags()
	flags.StringVar(&c.configPath, "config", "", "configuration `file` (default ./hooklatch.yaml, then ./.hooklatch/dev.yaml)")
	flags.StringVar(&c.logLevel, "log-level", "", "lowest `level` to log: debug, info, warn or error (default info; dev: warn)")
	flags.StringVar(&c.logFormat, "log-format", "auto", "`format` of log lines: text, json, or auto, which is text on a terminal and json elsewhere")
	root.AddCommand(
		c.newDev(),
		c.newInit(),
		c.newServe(serveKind{use: "serve", gateway: true, worker: true, short: "Run gateway and worker in one process"}),
		c.newServe(serveKind{use: "gateway", gateway: true, short: "Run the gateway, which accepts deliveries and stores them"}),
		c.newServe(serveKind{use: "worker", worker: true, short: "Run the worker, which dispatches events and performs effects"}),
		c.newReady(),
		c.newReload(),
		c.newMigrate(),
		c.newCells(),
		c.newCheck(),
		c.newStatus(),
		c.newAlerts(),
		c.newLogins(),
		c.newSend(),
		c.newProviders(),
		c.newFind(),
		c.newEvents(),
		c.newQuarantine(),
		c.newEffects(),
		c.newRoutes(),
		c.newRuns(),
		c.newReplays(),
		c.newDestinations(),
		c.newRepair(),
		c.newAudit(),
		c.newBackfill(),
		c.newRetention(),
		c.newImport(),
		c.newLicenses(),
		c.newMCP(),
		c.newVersion(),
	)
	explainArguments(root)
	c.completeValues(root)
	c.refuseHelpOfNothing(root)
	return root
}
