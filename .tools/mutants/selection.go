package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

// named returns the mutants whose name or changed package is one of the words, or all mutants if
// there are no words.
func named(root string, all []mutant.Mutant, words []string) []mutant.Mutant {
	if len(words) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m mutant.Mutant) bool {
		return !slices.ContainsFunc(words, func(word string) bool {
			return m.Name == word || slices.Contains(m.Packages(root), path.Clean(word))
		})
	})
}

// changedSince returns the mutants of packages in which any file, even a test or an embedded file,
// changed since HEAD and base diverged. A mutant's packages are those that it edits, and the one
// whose tests must notice it.
func changedSince(root string, all []mutant.Mutant, base string) ([]mutant.Mutant, error) {
	fork, err := git(root, "merge-base", "HEAD", base)
	if err != nil {
		return nil, err
	}
	files, err := git(root, "diff", "--name-only", "--no-renames", fork)
	if err != nil {
		return nil, err
	}
	changed := make(map[string]bool)
	for file := range strings.Lines(files) {
		changed[mutant.PackageOf(root, strings.TrimSpace(file))] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(m mutant.Mutant) bool {
		return !changed[path.Clean(m.Suite.Pkg)] && !slices.ContainsFunc(m.Packages(root), func(dir string) bool { return changed[dir] })
	}), nil
}

// shuffled returns the mutants in a random order that depends only on the commit's hash. If there
// is not enough time for all mutants, the run for another commit tries different ones.
func shuffled(root string, all []mutant.Mutant) ([]mutant.Mutant, error) {
	head, err := git(root, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(head)) // writing to a hash cannot fail
	order := slices.Clone(all)
	random := rand.New(rand.NewPCG(sum.Sum64(), 0)) //nolint:gosec // the order of mutants is no secret
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...) //nolint:noctx // the query of the local repository is quick
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
