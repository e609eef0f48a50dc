// Command mutants runs tests on versions of the code that each contain one deliberate mistake, and
// checks that the tests notice it. README.md describes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options contains the parsed flags and arguments.
type options struct {
	root, lists string
	changed     string
	budget      time.Duration
	limit       time.Duration
	parallel    int
	check       bool
	verbose     bool
	words       []string
}

func parse(args []string, out io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprintln(out, "usage: go -C .tools/mutants run . [flags] [name or package ...]")
		flags.PrintDefaults()
	}
	flags.StringVar(&opts.root, "root", "../..", "the module to change")
	flags.StringVar(&opts.lists, "list", "list"+string(filepath.ListSeparator)+"../../cmd/hookstorm/bugs", "the directories of the list")
	flags.StringVar(&opts.changed, "changed", "", "only mutants of packages that changed since HEAD and this commit diverged")
	flags.DurationVar(&opts.budget, "budget", 0, "time limit for the run; the commit decides which mutants come first")
	flags.DurationVar(&opts.limit, "limit", 3*time.Minute, "time limit for the tests of one mutant")
	flags.IntVar(&opts.parallel, "parallel", 2, "number of simultaneous mutants")
	flags.BoolVar(&opts.check, "check", false, "run no test: only report stale entries")
	flags.BoolVar(&opts.verbose, "v", false, "also show the output of the tests that noticed mutants")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	opts.words = flags.Args()
	var err error
	if opts.root, err = filepath.Abs(opts.root); err != nil {
		return options{}, fmt.Errorf("find the module: %w", err)
	}
	return opts, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	opts, err := parse(args, out)
	if err != nil {
		return err
	}
	start := time.Now()
	all, err := mutant.ReadList(filepath.SplitList(opts.lists)...)
	if err != nil {
		return err
	}
	total := &totals{out: out, verbose: opts.verbose}
	all, olds := fresh(opts.root, all)
	for _, old := range olds {
		total.add(old) // the check is cheap, so stale mutants are reported whatever else is selected
	}
	scheduled, tested := parted(all)
	if _, err := mutant.Planted(opts.root, scheduled); err != nil {
		return fmt.Errorf("mutants with a schedule cannot be in one build: %w", err)
	}
	if opts.check {
		fmt.Fprintf(out, "%d mutants, %d of them stale\n", len(all)+len(olds), len(olds))
		return total.err()
	}
	chosen, err := choose(tested, opts)
	if err != nil {
		return err
	}
	if len(chosen)+len(olds) == 0 && opts.changed == "" {
		return fmt.Errorf("no mutant has the name, or changes the package, %s", strings.Join(opts.words, " "))
	}
	limited := ctx
	if opts.budget > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, opts.budget)
		defer cancel()
	}
	fmt.Fprintf(out, "%d of %d mutants\n", len(chosen), len(tested))
	r := &runner{root: opts.root, limit: opts.limit}
	r.all(limited, chosen, opts.parallel, total.add)
	total.sum(time.Since(start))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return total.err()
}

// fresh returns the mutants that can still be made, and a result for each stale one: see
// mutant.Mutant.Stale.
func fresh(root string, all []mutant.Mutant) (able []mutant.Mutant, olds []result) {
	for _, m := range all {
		if err := m.Stale(root); err != nil {
			olds = append(olds, result{mutant: m, verdict: stale, detail: err.Error()})
			continue
		}
		able = append(able, m)
	}
	return able, olds
}

// parted returns the mutants with a schedule, and the mutants with a test. Some have both.
func parted(all []mutant.Mutant) (scheduled, tested []mutant.Mutant) {
	for _, m := range all {
		if m.Schedule != "" {
			scheduled = append(scheduled, m)
		}
		if m.Suite.Pkg != "" {
			tested = append(tested, m)
		}
	}
	return scheduled, tested
}

func choose(all []mutant.Mutant, opts options) ([]mutant.Mutant, error) {
	chosen := named(opts.root, all, opts.words)
	var err error
	if opts.changed != "" {
		if chosen, err = changedSince(opts.root, chosen, opts.changed); err != nil {
			return nil, err
		}
	}
	if opts.budget > 0 {
		return shuffled(opts.root, chosen)
	}
	return chosen, nil
}
