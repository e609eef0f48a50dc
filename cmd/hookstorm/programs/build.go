package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// buildTimeout bounds one build, with a cold cache on a busy machine.
const buildTimeout = 10 * time.Minute

// BuildOptions configure Build.
type BuildOptions struct {
	// Dir is the root of the repository: the current tree, or a Worktree. Required.
	Dir string
	// Out is the file to write. Required.
	Out string
	// Package is the program's directory, relative to Dir. Hooklatch and hookstorm are separate
	// modules. Defaults to cmd/hooklatch.
	Package string
	// Tags are build tags, such as failpoint.
	Tags []string
	// Overlay is a file that lists replacements for other files, in the format of the go command's
	// flag -overlay. If empty, no file is replaced.
	Overlay string
}

// Build builds a program with the go command and returns its absolute path.
func Build(ctx context.Context, opts BuildOptions) (string, error) {
	if opts.Dir == "" || opts.Out == "" {
		return "", errors.New("build options: Dir and Out are required")
	}
	if opts.Package == "" {
		opts.Package = "cmd/hooklatch"
	}
	out, err := filepath.Abs(opts.Out)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", opts.Package, err)
	}
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	// Callers get the version from Commit. VCS stamping would fail outside a repository.
	args := []string{"build", "-buildvcs=false", "-o", out, "-tags", strings.Join(opts.Tags, ",")}
	if opts.Overlay != "" {
		args = append(args, "-overlay", opts.Overlay)
	}
	args = append(args, ".")
	if _, err := output(ctx, filepath.Join(opts.Dir, opts.Package), "go", args...); err != nil {
		return "", fmt.Errorf("build %s: %w", opts.Package, err)
	}
	return out, nil
}

// Commit returns the short hash of the commit in dir, with -dirty appended if tracked files differ.
func Commit(ctx context.Context, dir string) (string, error) {
	name, err := output(ctx, dir, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", fmt.Errorf("name the commit: %w", err)
	}
	changes, err := output(ctx, dir, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", fmt.Errorf("name the commit: %w", err)
	}
	if changes != "" {
		name += "-dirty"
	}
	return name, nil
}

// Worktree checks out a commit of the repository at root into a temporary directory. The function
// remove deletes the worktree and may be called again.
func Worktree(ctx context.Context, root, ref string) (dir string, remove func() error, err error) {
	commit, err := output(ctx, root, "git", "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", nil, fmt.Errorf("worktree of %s: %w", ref, err)
	}
	parent, err := os.MkdirTemp("", "hookstorm-previous-*")
	if err != nil {
		return "", nil, fmt.Errorf("worktree of %s: %w", ref, err)
	}
	dir = filepath.Join(parent, "tree")
	remove = func() error {
		if err := os.RemoveAll(parent); err != nil {
			return fmt.Errorf("remove the worktree of %s: %w", ref, err)
		}
		// The command runs even after ctx is done, so that the repository does not keep listing the
		// removed worktree.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if _, err := output(ctx, root, "git", "worktree", "prune"); err != nil {
			return fmt.Errorf("remove the worktree of %s: %w", ref, err)
		}
		return nil
	}
	// A developer's Git hooks may do anything, so they are turned off.
	if _, err := output(ctx, root, "git", "-c", "core.hooksPath="+os.DevNull, "worktree", "add", "--detach", dir, commit); err != nil {
		return "", nil, errors.Join(fmt.Errorf("worktree of %s: %w", ref, err), remove())
	}
	return dir, remove, nil
}

// output runs a command and returns its standard output without surrounding white space.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(printed)), nil
}
