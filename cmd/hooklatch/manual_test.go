package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

//go:generate go test . -run ^TestThePageOfCommandsIsTheHelp$ -update

// manual is the absolute path of the folder for man pages and completion scripts. Releases call:
//
//	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) go test ./cmd/hooklatch -run '^TestManual$' -manual "$PWD/dist/manual"
//
// The generator is a test, so that the modules that it needs are not part of the program.
var manual = flag.String("manual", "", "write man pages to man, and completion scripts to completions, in this `folder`")

// completions returns the functions that write the completion scripts, by shell and file name.
func completions() map[string]func(root *cobra.Command, w *bytes.Buffer) error {
	return map[string]func(*cobra.Command, *bytes.Buffer) error{
		"bash/hooklatch":      func(root *cobra.Command, w *bytes.Buffer) error { return root.GenBashCompletionV2(w, true) },
		"zsh/_hooklatch":      func(root *cobra.Command, w *bytes.Buffer) error { return root.GenZshCompletion(w) },
		"fish/hooklatch.fish": func(root *cobra.Command, w *bytes.Buffer) error { return root.GenFishCompletion(w, true) },
		"powershell/hooklatch.ps1": func(root *cobra.Command, w *bytes.Buffer) error {
			return root.GenPowerShellCompletionWithDesc(w)
		},
	}
}

// writeManual writes man pages and completion scripts. Their bytes do not depend on the current
// time or on the machine.
func writeManual(dir string, at time.Time) error {
	root := cli.NewRoot(&cli.Process{Name: cli.ProgramName})
	root.DisableAutoGenTag = true // the tag contains the current date
	pages := filepath.Join(dir, "man")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Hooklatch", Manual: "Hooklatch", Date: &at}, pages); err != nil {
		return err
	}
	for name, script := range completions() {
		var b bytes.Buffer
		if err := script(root, &b); err != nil {
			return err
		}
		path := filepath.Join(dir, "completions", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// releaseTime returns the time that the man pages show: SOURCE_DATE_EPOCH.
func releaseTime() (time.Time, error) {
	const variable = "SOURCE_DATE_EPOCH"
	seconds, err := strconv.ParseInt(os.Getenv(variable), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %q: set it to the time of the commit: git log -1 --format=%%ct", variable, os.Getenv(variable))
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func TestManual(t *testing.T) {
	t.Parallel()
	dir, at := *manual, time.Date(2026, time.November, 27, 0, 0, 0, 0, time.UTC)
	if dir == "" {
		dir = t.TempDir()
	} else {
		require.True(t, filepath.IsAbs(dir), "-manual %s: it must be absolute, because go test changes the directory", dir)
		var err error
		at, err = releaseTime()
		require.NoError(t, err)
	}
	require.NoError(t, writeManual(dir, at))
	for _, path := range clitest.AllCommands(cli.NewRoot(&cli.Process{Name: cli.ProgramName})) {
		page := strings.Join(append([]string{cli.ProgramName}, strings.Fields(path)...), "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, "man", page))
		require.NoError(t, err)
		require.Contains(t, string(text), at.Format(`"Jan 2006"`), page)
		require.Contains(t, string(text), `\fB--log-level\fP`, page)
	}
	for name := range completions() {
		text, err := os.ReadFile(filepath.Join(dir, "completions", name))
		require.NoError(t, err)
		require.Contains(t, string(text), "__complete", name)
	}
}

// globalFlags matches the end of a help text: the flags inherited from parent commands. The page
// shows these flags only in the help of the commands that declare them.
var globalFlags = regexp.MustCompile(`(?s)\n(Global Flags:.*|Use "[^"]+ --help" for more information about a command\.\n)$`)

// The page contains the help of every command, in the order in which the help texts list the
// commands.
func TestThePageOfCommandsIsTheHelp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/program/cli by ` + "`go generate ./cmd/hooklatch`" + `. Do not edit. -->

# Commands

This page contains the help of every command, as ` + "`hooklatch COMMAND --help`" + ` prints it. The flags of the first block apply to all commands.
Packages and archives contain the same texts as man pages (` + "`man hooklatch-events-list`" + `), and completion scripts for commands, flags and the
names in your configuration. ` + "`hooklatch completion bash`" + ` (or zsh, fish, powershell) also prints a completion script.

Commands that the program prints, such as the advice of ` + "`hooklatch check`" + `, repeat ` + "`--config`, `--database-url` and `--cell`" + ` of the command
that prints them, so that they work in the same shell and directory. They omit the password of ` + "`--database-url`" + `: set ` + "`PGPASSWORD`" + ` to run
them.
`)
	for _, path := range clitest.AllCommands(cli.NewRoot(&cli.Process{Name: clitest.TestName})) {
		args := strings.Fields(path)
		help := clitest.Must(t, append(args, "--help")...)
		if path != "" {
			help = globalFlags.ReplaceAllString(help, "")
		}
		fmt.Fprintf(&b, "\n##%s %s\n\n```\n%s\n```\n", strings.Repeat("#", max(0, len(args)-1)), strings.TrimSpace(clitest.TestName+" "+path), strings.TrimSpace(help))
	}
	page := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text), "go generate ./cmd/hooklatch writes it")
}
