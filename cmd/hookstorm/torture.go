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
		Long: `Torture starts gateways, workers and an application of the current tree on its own
Postgres, sends signed deliveries as providers do, and injects faults. Then it heals
everything, waits until no work is left, and checks every operation against the
guarantees. The last line contains the number of violations.`,
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
			if dsn == "" && opts.Cluster != torture.Patroni && !opts.OwnDisks {
				if err := privately(cmd.Context(), s); !errors.Is(err, errNotPrivate) {
					return err
				} else if _, err := fmt.Fprintln(s.stderr, err); err != nil {
					return fmt.Errorf("report omitted faults: %w", err)
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
	flags.DurationVar(&opts.Time, "time", torture.DefaultTime, "duration of traffic and faults, without healing and checking")
	flags.Uint64Var(&opts.Seed, "seed", 1, "decides the faults, their times and the events sent")
	flags.StringVar(&opts.Previous, "previous", "", "commit whose programs run beside the current ones, as in a rolling deployment")
	flags.StringVar(&opts.Dir, "dir", "", "directory for history, logs and the database (default: a temporary one, removed if nothing is found)")
	flags.StringVar(&dsn, "dsn", os.Getenv("HOOKSTORM_DSN"), "URL of a server on which to create a marked database, instead of starting a server; or HOOKSTORM_DSN")
	flags.StringVar((*string)(&opts.Cluster), "cluster", string(torture.Pair), "own servers: pair, or patroni for three under Debian's Patroni, with failovers")
	flags.BoolVar(&opts.Production, "production", false, "leave leases, timeouts and schedules at their defaults")
	flags.StringVar(&with, "with", "", "file with your own settings: keys of gateway, worker and destination")
	flags.DurationVar(&opts.Pause, "pause", torture.DefaultPause, "mean pause between two faults of the same kind of target")
	flags.DurationVar(&opts.Patience, "patience", 0, "maximum time, after the faults, without a decrease in the unfinished work (default 6m, 10m with --production)")
	flags.BoolVar(&opts.Redis, "redis", false, "let the gateways share their memory of duplicates in a Redis, and kill, empty and freeze it")
	flags.IntVar(&opts.Gateways, "gateways", 2, "gateway processes")
	flags.IntVar(&opts.Workers, "workers", 2, "worker processes, beside an application with handlers")
	flags.Float64Var(&opts.Rate, "rate", torture.DefaultRate, "new events per second")
	flags.StringSliceVar(&opts.Only, "only", nil, "kinds of faults to inject (default: all)")
	flags.StringVar(&bug, "planted", "", "plant a bug, or all, and check that its schedule reveals it, instead of a storm")
	flags.IntVar(&times, "times", 1, "number of times that a planted bug must be found")
	return cmd
}

// ownSettings reads the file of flag --with. Without a file it returns no settings.
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

// repositoryRoot returns the root of Hooklatch's source tree: the current directory, or the
// nearest one above it that contains cmd/hooklatch. Programs are built from it.
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
		case f.Value.Type() == "bool": // a separate value would be parsed as an argument
			line += fmt.Sprintf(" --%s=%s", f.Name, f.Value)
		default:
			line += fmt.Sprintf(" --%s %s", f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	return line
}
