package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

const (
	module = "testdata/module"
	list   = "testdata/list"
)

// mutantsOf runs the command. It returns the report on each mutant, as a map by the mutant's name,
// and the complete output and the error of the command.
func mutantsOf(t *testing.T, args ...string) (said map[string]string, out string, err error) {
	t.Helper()
	var b strings.Builder
	err = run(t.Context(), args, &b)
	said = make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^(killed|SURVIVED|STALE|BROKEN) +[\d.]+ s  (\S+)(.*)$`).FindAllStringSubmatch(b.String(), -1) {
		said[m[2]] = m[1] + m[3]
	}
	return said, b.String(), err
}

func TestEveryMutantIsJudged(t *testing.T) {
	t.Parallel()
	said, out, err := mutantsOf(t, "-root", module, "-list", list)
	if !errors.Is(err, errNotKilled) {
		t.Errorf("got error %v", err)
	}
	all, err := mutant.ReadList(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		want, _, _ := strings.Cut(m.Name, "-")
		if got, _, _ := strings.Cut(said[m.Name], " "); got != want {
			t.Errorf("%s: %s", m.Name, said[m.Name])
		}
	}
	for name, want := range map[string]string{"killed-by-its-test": "killed  by TestTotal", "killed-by-a-crash": "killed  by TestCrash"} {
		if said[name] != want {
			t.Errorf("%s: %s", name, said[name])
		}
	}
	for _, want := range []string{
		"Ten percent is not nine.", "undefined: cost", "the changed SQL is invalid", "fails without any mutant", "has no test TestSum",
		"shop.go has the text 0 times instead of once", "6 killed, 2 survived, 3 stale, 4 broken, 0 left out",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not say: %s", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestMutantsAreChosenByNameAndPackage(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"killed-by-its-test"}, {"killed-by-its-test", "killed-in-an-embedded-file"}} {
		said, out, _ := mutantsOf(t, append([]string{"-root", module, "-list", list}, words...)...)
		for name, verdict := range said {
			if !strings.HasPrefix(verdict, "STALE") && !slices.Contains(words, name) {
				t.Errorf("%v ran %s:\n%s", words, name, out)
			}
		}
	}
	all, err := mutant.ReadList(list)
	if err != nil {
		t.Fatal(err)
	}
	if got := named(module, all, []string{"."}); len(got) != len(all) {
		t.Errorf("%d of %d mutants change the package", len(got), len(all))
	}
	if _, _, err := mutantsOf(t, "-root", module, "-list", list, "-check", "nothing"); !errors.Is(err, errNotKilled) {
		t.Errorf("-check does not report stale mutants: %v", err)
	}
}

func TestWhatTheTimeDoesNotSufficeForIsLeftOut(t *testing.T) {
	t.Parallel()
	root := repository(t)
	said, out, err := mutantsOf(t, "-root", root, "-list", list, "-budget", "1ns")
	if !errors.Is(err, errNotKilled) || !strings.Contains(out, "0 killed, 0 survived, 3 stale, 0 broken, 12 left out") || len(said) != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"-root", root, "-list", list}, &strings.Builder{}); err == nil || errors.Is(err, errNotKilled) {
		t.Errorf("an interrupted run ended with: %v", err)
	}
}

func TestOnlyWhatChangedIsTried(t *testing.T) {
	t.Parallel()
	root := repository(t)
	all, err := mutant.ReadList(list)
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		t.Helper()
		changed, err := changedSince(root, all, "base")
		if err != nil {
			t.Fatal(err)
		}
		return len(changed)
	}
	write(t, root, "till/main.go", "package main\n\nfunc main() {}\n")
	if n := count(); n != 0 {
		t.Errorf("%d mutants of a package that did not change", n)
	}
	elsewhere := slices.Clone(all)
	elsewhere[0].Suite.Pkg = "./till" // its tests are in the package that changed
	if tried, err := changedSince(root, elsewhere, "base"); err != nil || len(tried) != 1 {
		t.Errorf("%d mutants whose tests changed, %v", len(tried), err)
	}
	write(t, root, "query/total.sql", "SELECT 0\n")
	if n := count(); n != len(all) {
		t.Errorf("%d of %d mutants of the package that embeds a changed file", n, len(all))
	}
	inGit(t, root, "commit", "-qam", "change")
	first, err := shuffled(root, all)
	if err != nil {
		t.Fatal(err)
	}
	inGit(t, root, "commit", "-q", "--allow-empty", "-m", "another")
	second, err := shuffled(root, all)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(all) || slices.EqualFunc(first, second, func(a, b mutant.Mutant) bool { return a.Name == b.Name }) {
		t.Error("two commits try the same mutants first")
	}
}

func TestWrongListsAreRefused(t *testing.T) {
	t.Parallel()
	const whole = "mutant a\nwhy b\nfile c\n-d\n+e\ntest . TestA\n"
	if mutants, err := mutant.Parse("list", whole); err != nil || len(mutants) != 1 || mutants[0].Suite.Run != "^TestA$" {
		t.Fatalf("%+v, %v", mutants, err)
	}
	for fault, want := range map[string]string{
		"why b\n" + whole: "list:1: before the first mutant",
		strings.Replace(whole, "mutant a", "mutant a b", 1):   "want a name of one word",
		strings.Replace(whole, "why b\n", "", 1):              "does not say why it matters",
		strings.Replace(whole, "+e", "+d", 1):                 "does not change c",
		strings.Replace(whole, "file c\n", "", 1):             "a change without a file",
		strings.Replace(whole, "+e\n", "+e\n-f\n", 1):         "a - line follows a + line",
		strings.Replace(whole, "test . TestA\n", "", 1):       "names neither a test nor a schedule",
		strings.Replace(whole, "test . TestA", "test .", 1):   "want one package and the names of its tests",
		strings.Replace(whole, "why b", "limit soon", 1):      "limit:",
		strings.Replace(whole, "why b", "because of this", 1): "unknown line",
	} {
		if _, err := mutant.Parse("list", fault); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The list must match the code, or it is useless.
func TestTheListIsNotStale(t *testing.T) {
	t.Parallel()
	if _, out, err := mutantsOf(t, "-check"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A mistake in a function that a later migration replaces changes nothing.
func TestNoMutantIsInAFunctionThatALaterMigrationReplaces(t *testing.T) {
	t.Parallel()
	const root = "../.."
	function := regexp.MustCompile(`(?s)CREATE (?:OR REPLACE )?FUNCTION (hooklatch\.\w+).*?\$\$.*?\$\$`)
	migrations, err := filepath.Glob(root + "/schema/migrations/*.up.sql")
	if err != nil || len(migrations) == 0 {
		t.Fatal(err, "no migrations")
	}
	texts, last := map[string]string{}, map[string]string{} // texts by file, and the last file by function
	for _, path := range migrations {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := "schema/migrations/" + filepath.Base(path)
		texts[file] = string(text)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			last[found[1]] = file
		}
	}
	all, err := mutant.ReadList("list")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		for _, e := range m.Edits {
			for _, found := range function.FindAllStringSubmatch(texts[e.File], -1) {
				if strings.Contains(found[0], e.Find) && last[found[1]] != e.File {
					t.Errorf("%s: %s is defined anew in %s: plant it there", m.Name, found[1], last[found[1]])
				}
			}
		}
	}
}

// Mutants with a schedule are not run here, but must fit into one build together.
func TestMutantsWithAScheduleAreCheckedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "planted.mutants", "mutant free\nwhy b\nfile shop.go\n-package\n+package\n+\nschedule c\n")
	_, out, err := mutantsOf(t, "-root", module, "-list", dir, "-check")
	if err == nil || !strings.Contains(err.Error(), "cannot be in one build") || !strings.Contains(err.Error(), "free: does not depend on {{planted}}") {
		t.Errorf("%v\n%s", err, out)
	}
}

// repository returns a copy of the module with a single commit, named base.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	inGit(t, root, "init", "-q")
	inGit(t, root, "add", ".")
	inGit(t, root, "commit", "-q", "-m", "base")
	inGit(t, root, "tag", "base")
	return root
}

func write(t *testing.T, root, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func inGit(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
