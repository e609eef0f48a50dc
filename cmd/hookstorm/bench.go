package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func newBench(s streams) *cobra.Command {
	var opts bench.Options
	var files reportFiles
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure Hooklatch and its contenders, with the cost of every process",
		Long: `Bench builds the programs of the current tree and measures them in one run, in turn
with two contenders: the same HTTP server without a database, and one transaction for
each event. Every system with a database has a separate, durable Postgres. The report
contains the results with their spread, and compares them with the goals.

Scenarios:
` + scenarioList(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opts.Module, err = repositoryRoot(); err != nil {
				return err
			}
			if opts.Self, err = os.Executable(); err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			opts.Out, opts.Command = s.stderr, "go -C cmd/hookstorm run . "+commandLine(cmd)
			measured, err := bench.Run(cmd.Context(), opts)
			if measured == nil {
				return err
			}
			if err := errors.Join(err, measured.Print(s.stdout)); err != nil { // after an error, print the measurements so far
				return err
			}
			if err := files.write(measured); err != nil {
				return err
			}
			if broken := measured.Broken(); len(broken) > 0 {
				return fmt.Errorf("%s: not even the loose bound of a quick run holds", broken[0].Name)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.Only, "only", nil, "scenarios to measure (default: those that take turns)")
	flags.BoolVar(&opts.Quick, "quick", false, "make everything small: it shows that everything works, but its figures mean little")
	flags.IntVar(&opts.Rounds, "rounds", 0, fmt.Sprintf("turns of each scenario (default %d, 1 with --quick)", bench.DefaultRounds))
	flags.IntVar(&opts.Events, "events", 0, fmt.Sprintf("events for a full lifecycle (default %d)", bench.DefaultEvents))
	flags.IntVar(&opts.Backlog, "backlog", 0, fmt.Sprintf("events accepted while the receiver is down (default %d)", bench.DefaultBacklog))
	flags.Float64Var(&opts.Rate, "rate", 0, fmt.Sprintf("constant arrival rate, events per second (default %d)", bench.DefaultRate))
	flags.IntVar(&opts.Rows, "rows", 0, fmt.Sprintf("events and effects in the large tables (default %d)", bench.DefaultRows))
	flags.StringVar(&opts.Previous, "previous", "", "`commit` against which years, collection and life measure this tree")
	flags.StringVar(&files.json, "json", "", "`file` to write the report to, as JSON")
	files.addTo(flags)
	cmd.AddCommand(newBenchServer(s), newBenchMerge(s))
	return cmd
}

// newBenchMerge returns the command that merges the reports of several runs.
func newBenchMerge(s streams) *cobra.Command {
	var files reportFiles
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Merge reports that --json wrote for one commit, each with different scenarios",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var reports []*report.Report
			for _, path := range args {
				read, err := report.Read(path)
				if err != nil {
					return err
				}
				reports = append(reports, read)
			}
			all := reports[0]
			if err := all.Merge(reports[1:]...); err != nil {
				return err
			}
			if err := files.write(all); err != nil {
				return err
			}
			return all.Print(s.stdout)
		},
	}
	files.addTo(cmd.Flags())
	return cmd
}

// reportFiles lists the files for a report. A file with an empty name is not written.
type reportFiles struct{ json, svg, page string }

func (f *reportFiles) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.svg, "svg", "", "`file` to write a picture to")
	flags.StringVar(&f.page, "publish", "", "`page` to write the figures to: ../../docs/performance.md from the directory of hookstorm")
}

func (f *reportFiles) write(r *report.Report) error {
	for _, file := range []struct {
		path  string
		write func(path string) error
	}{{f.json, r.WriteJSON}, {f.svg, r.WritePicture}, {f.page, func(path string) error { return r.Publish(path, f.svg) }}} {
		if file.path == "" {
			continue
		}
		if err := file.write(file.path); err != nil {
			return err
		}
	}
	return nil
}

func scenarioList() string {
	var list strings.Builder
	for _, scenario := range bench.Scenarios() {
		fmt.Fprintf(&list, "  %-12s %s\n", scenario.Name, scenario.What)
	}
	return strings.TrimRight(list.String(), "\n")
}

// newBenchServer returns the command that starts a system for comparison with Hooklatch.
func newBenchServer(s streams) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:    "server",
		Short:  "Run a server with which Hooklatch is compared",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return contender.Serve(cmd.Context(), contender.Options{
				Listen: listen, DatabaseURL: secret.New(os.Getenv(contender.DatabaseEnv)), Logger: slog.New(slog.NewJSONHandler(s.stderr, nil)),
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen on")
	return cmd
}
