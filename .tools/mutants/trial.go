package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

// buildTime is the maximum time for building a test, in addition to the time limit of its run.
const buildTime = 10 * time.Minute

// trial is the result of one run of a suite.
type trial struct {
	passed   bool
	ran      int      // tests that began and were not skipped; subtests do not count
	failed   []string // the tests that failed, or were running when the program exited
	timedOut bool
	broken   string // reason why the program could not be tested
	output   string
}

// try runs a suite with changed files in place of the existing ones. The keys of changed are paths
// below root. Nothing is written to root: the go command reads changed files from an overlay,
// including embedded files. The programs that a test builds use the overlay, too.
func try(ctx context.Context, root string, s mutant.Suite, limit time.Duration, changed map[string]string) (trial, error) {
	scratch, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return trial{}, fmt.Errorf("make a directory for the overlay: %w", err)
	}
	defer os.RemoveAll(scratch)
	overlay, err := mutant.WriteOverlay(root, scratch, changed)
	if err != nil {
		return trial{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-timeout", limit.String(), "-run", s.Run, s.Pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A separate process group lets Cancel also kill the test program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return trial{}, fmt.Errorf("run %s: %w", s, ctx.Err())
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return trial{}, fmt.Errorf("run %s: %w", s, err)
	}
	t := readTrial(&stdout)
	t.passed = err == nil
	if err != nil && t.ran == 0 && t.broken == "" {
		t.broken = "the program ended before its first test"
	}
	t.output += stderr.String()
	return t, nil
}

// event is a line of go test -json.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// readTrial parses the output of go test -json.
func readTrial(events *bytes.Buffer) trial {
	var t trial
	var output strings.Builder
	running := make(map[string]bool)
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		output.WriteString(e.Output)
		part := strings.Contains(e.Test, "/")
		switch {
		case e.Action == "build-fail" || e.FailedBuild != "":
			t.broken = "it does not compile"
		case e.Test == "" || part:
		case e.Action == "run":
			t.ran++
			running[e.Test] = true
		case e.Action == "pass":
			delete(running, e.Test)
		case e.Action == "skip":
			delete(running, e.Test)
			t.ran-- // a skipped test shows nothing
		case e.Action == "fail":
			delete(running, e.Test)
			t.failed = append(t.failed, e.Test)
		}
		if strings.HasPrefix(e.Output, "panic: test timed out after") {
			t.timedOut = true
		}
	}
	t.failed = append(t.failed, slices.Sorted(maps.Keys(running))...)
	t.output = output.String()
	return t
}

// invalidSQL matches the errors of a statement that Postgres cannot parse: a syntax error, or
// names and types that do not exist.
var invalidSQL = regexp.MustCompile(`SQLSTATE (42601|42703|42702|42P01|42P08|42P10|42P18|42883|42804)`)

// brokenSQL reports whether a change of SQL created an invalid statement, which any test would
// notice.
func (t trial) brokenSQL(changed map[string]string) bool {
	for file := range changed {
		if filepath.Ext(file) == ".sql" && invalidSQL.MatchString(t.output) {
			return true
		}
	}
	return false
}
