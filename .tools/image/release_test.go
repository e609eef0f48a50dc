package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a repository with a program at version v1.2.3, and returns its folder.
func repository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/program\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"} {
		put(t, filepath.Join(folder, name), text)
	}
	for _, command := range []string{"init -q", "add .", "commit -q -m First", "tag v1.2.3"} {
		execute(t, folder, "git", strings.Fields(command)...)
	}
	return folder
}

// build builds the program as GoReleaser does.
func build(t *testing.T, folder, dist, processor string, flags ...string) {
	t.Helper()
	suffix := map[string]string{"amd64": "_v1", "arm64": "_v8.0"}[processor]
	to := filepath.Join(dist, "hooklatch_linux_"+processor+suffix, "hooklatch")
	args := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + processor, "go", "build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w", "-o", to}
	execute(t, folder, "env", append(append(args, flags...), ".")...)
}

func release(t *testing.T, folder string) string {
	t.Helper()
	dist := t.TempDir()
	for _, processor := range processors {
		build(t, folder, dist, processor)
	}
	return dist
}

func execute(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-03-04T05:06:07Z", "GIT_COMMITTER_DATE=2026-03-04T05:06:07Z")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	checked(t, os.WriteFile(name, []byte(text), 0o600))
}

func checked(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
