package torture

import (
	"context"
	"path/filepath"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
)

// binaries lists the builds from which the processes are started.
type binaries struct {
	hooklatch []binary // in no particular order
	hookstorm binary   // the application
}

// binary is one build of a program.
type binary struct {
	name  string // current, failpoint or previous
	label string // name with commit, for the history
	path  string
	args  []string
}

// of returns the builds for process number n of a role, with the arguments for that role. A
// gateway with an odd number has a worker in the same process.
func (b binaries) of(role role, n int) []binary {
	if role == roleApplication {
		app := b.hookstorm
		app.args = []string{"app"}
		return []binary{app}
	}
	command := string(role)
	if role == roleGateway && n%2 == 1 {
		command = "serve"
	}
	of := make([]binary, len(b.hooklatch))
	for i, one := range b.hooklatch {
		one.args = []string{command}
		of[i] = one
	}
	return of
}

// build builds the programs from the current tree, and the previous version from its commit.
func (w *world) build(ctx context.Context) error {
	var err error
	if w.commit, err = programs.Commit(ctx, w.opts.Module); err != nil {
		return err
	}
	add := func(name, dir, commit, pkg string, tags ...string) (binary, error) {
		path, err := programs.Build(ctx, programs.BuildOptions{
			Dir: dir, Out: filepath.Join(w.Dir, filepath.Base(pkg)+"."+name), Package: pkg, Tags: tags,
		})
		return binary{name: name, label: name + " " + commit, path: path}, err
	}
	for name, tags := range map[string][]string{buildCurrent: nil, buildFailpoint: {"failpoint"}} {
		b, err := add(name, w.opts.Module, w.commit, "cmd/hooklatch", tags...)
		if err != nil {
			return err
		}
		w.binaries.hooklatch = append(w.binaries.hooklatch, b)
	}
	if w.binaries.hookstorm, err = add(buildCurrent, w.opts.Module, w.commit, "cmd/hookstorm"); err != nil {
		return err
	}
	if w.opts.Previous == "" {
		return nil
	}
	dir, remove, err := programs.Worktree(ctx, w.opts.Module, w.opts.Previous)
	if err != nil {
		return err
	}
	w.OnStop("tree of the previous version", func(context.Context) error { return remove() })
	b, err := add(buildPrevious, dir, w.opts.Previous, "cmd/hooklatch")
	if err != nil {
		return err
	}
	w.binaries.hooklatch = append(w.binaries.hooklatch, b)
	return nil
}
