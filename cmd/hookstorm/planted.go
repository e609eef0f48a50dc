package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/planted"
)

// proofAtOnce is the maximum number of simultaneous runs. See planted.Proof.AtOnce.
const proofAtOnce = 4

// provePlanted plants the bug with the given name, or every bug if the name is all, and checks that
// the checker finds each of them.
func provePlanted(ctx context.Context, s streams, module, dir, name string, times int) (err error) {
	cases := planted.Cases()
	if name != "all" {
		one, found := planted.CaseOf(bugs.Bug(name))
		if !found {
			return fmt.Errorf("no planted bug %q exists; choose from %s and all", name, strings.Join(plantedNames(), ", "))
		}
		cases = []planted.Case{one}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hookstorm-planted-*"); err != nil {
			return fmt.Errorf("create a directory for the run: %w", err)
		}
		defer func() {
			if err == nil {
				_ = os.RemoveAll(dir) // the directory is useful only after a failure
			}
		}()
	}
	opts, err := planted.Build(ctx, module, dir)
	if err != nil {
		return err
	}
	hunt, err := planted.New(opts)
	if err != nil {
		return err
	}
	defer hunt.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // the findings were reported
	if err := hunt.Start(ctx); err != nil {
		return err
	}
	rows, err := hunt.Prove(ctx, planted.Proof{Cases: cases, Times: times, AtOnce: proofAtOnce})
	if printed := planted.Print(s.stdout, rows); printed != nil {
		return printed
	}
	return err
}

func plantedNames() []string {
	var names []string
	for _, c := range planted.Cases() {
		names = append(names, string(c.Bug))
	}
	return names
}
