package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// process is the environment that commands use.
type process struct {
	name   string // as invoked: used in error lines, usage and hints
	stdin  io.Reader
	stdout io.Writer // for a command's result
	stderr io.Writer // for everything else
	// outputs contains stdout and stderr if they can be queued. It is empty in tests.
	outputs  []*logqueue.Queue
	env      config.LookupEnv
	terminal bool // true if stderr is a terminal, which gets progress and text logs
	// cellPatience is the maximum time that status and the lists wait for a cell.
	cellPatience time.Duration
	// answerTimeout is the time within which Postgres must answer for init to use it.
	answerTimeout time.Duration
	// acceptTimeout is the gateway's accept_timeout in dev; 0 for the configured one. Only tests set it.
	acceptTimeout time.Duration
	// reloads returns a channel that receives reload requests until ctx is done.
	reloads func(ctx context.Context) <-chan struct{}
	// version is the version that the linker set, or "".
	version string
	// licenses are the licences of all software in the binary.
	licenses string

	started bool  // true if the arguments were correct and the command runs
	misuse  error // misuse found where no error can be returned
}

// programName is the installed binary's name.
const programName = "hooklatch"

// invocation returns the command that runs the program again: the binary's name, or the go run
// command if `go run` built a temporary binary.
func invocation(arg0 string) string {
	path := filepath.ToSlash(arg0)
	if strings.Contains(path, "/go-build") { // go run builds in temporary directories and in the build cache
		return "go run ./cmd/" + programName
	}
	base := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".exe")
	if base == "" {
		return programName
	}
	return base
}
