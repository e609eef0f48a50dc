package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/torture"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func newTorture(s streams) *cobra.Command {
	var opts torture.Options
	var dsn, with, bug string
	var times int
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Try to break the promise: real processes, real faults, a judged history",
		Long: `Torture starts gateways, workers and an application of the tree it stands in, on a
Postgres of its own, sends signed deliveries as providers do, and breaks what can
break. Then it heals everything, waits until nothing is left to do, and holds every
operation against the guarantees. The last line says how many violations there were.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			module, err := repositoryRoot()
			if err != nil {
				return err
			}
			if bug != "" {
				return provePlanted(cmd.Context(), s, module, opts.Dir, bug, times)
			}
			if opts.Mine, err = ownSettings(with); err != nil {
				return err
			}
			opts.Module, opts.Out, opts.DSN = module, s.stderr, secret.New(dsn)
			opts.OwnDisks = os.Getenv(privateEnv) != ""
			if dsn == "" && !opts.OwnDisks {
				if err := privately(cmd.Context(), s); !errors.Is(err, errNotPrivate) {
					return err
				} else if _, err := fmt.Fprintln(s.stderr, err); err != nil {
					return fmt.Errorf("say what is left out: %w", err)
				}
			}
			opts.Command = "go -C cmd/hookstorm run . " + commandLine(cmd)
			result, err := torture.Run(cmd.Context(), opts)
			if err != nil {
				return err
			}
			if err := torture.Print(s.stdout, result); err != nil {
				return err
			}
			if len(result.Verdict.Violations) > 0 {
				return errFound
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&opts.Time, "time", torture.DefaultTime, "how long traffic and faults last; healing and checking come on top")
	flags.Uint64Var(&opts.Seed, "seed", 1, "decides which faults come when, and what is sent")
	flags.StringVar(&opts.Previous, "previous", "", "commit whose programs run beside those of this tree, as in a rolling deployment")
	flags.StringVar(&opts.Dir, "dir", "", "directory for history, logs and the database (default: one that is removed when all is well)")
	flags.StringVar(&dsn, "dsn", os.Getenv("HOOKSTORM_DSN"), "URL of a server to make a marked database on, instead of an own server; or HOOKSTORM_DSN")
	flags.BoolVar(&opts.Production, "production", false, "leave leases, time-outs and schedules at their defaults")
	flags.StringVar(&with, "with", "", "file with settings of yours: keys of gateway, worker and destination")
	flags.DurationVar(&opts.Pause, "pause", torture.DefaultPause, "mean pause between two faults of one kind of target")
	flags.DurationVar(&opts.Patience, "patience", 0, "how long everything may take to come to an end after the faults (default 6m, 10m with --production)")
	flags.IntVar(&opts.Gateways, "gateways", 2, "gateway processes")
	flags.IntVar(&opts.Workers, "workers", 2, "worker processes, beside an application with handlers")
	flags.Float64Var(&opts.Rate, "rate", torture.DefaultRate, "new events in a second")
	flags.StringSliceVar(&opts.Only, "only", nil, "kinds of faults to make (default: all)")
	flags.StringVar(&bug, "planted", "", "plant a bug, or all, and see that it is found: by a schedule of its own, instead of a storm")
	flags.IntVar(&times, "times", 1, "how often a planted bug must be found")
	return cmd
}

// ownSettings reads the settings of a user.
func ownSettings(path string) (own scenario.Own, err error) {
	if path == "" {
		return own, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return own, fmt.Errorf("read the settings: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(text, &own, yaml.Strict()); err != nil {
		return own, fmt.Errorf("read the settings of %s: %w", path, err)
	}
	return own, nil
}

// repositoryRoot returns the directory above the current one that contains Hooklatch.
// Programs are built from it.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the source tree: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "hooklatch", "main.go")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("neither this directory nor one above it has cmd/hooklatch: run hookstorm in a checkout of Hooklatch, whose programs it builds")
		}
		dir = parent
	}
}

// commandLine returns a command with its flags. It omits the DSN, which is a secret, and the
// locations of files.
func commandLine(cmd *cobra.Command) string {
	line := cmd.Name()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains([]string{"dsn", "dir", "json", "svg", "publish"}, f.Name):
		case f.Value.Type() == "bool": // its value would be parsed as an argument
			line += fmt.Sprintf(" --%s=%s", f.Name, f.Value)
		default:
			line += fmt.Sprintf(" --%s %s", f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	return line
}
